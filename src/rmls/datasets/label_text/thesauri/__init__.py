"""Thesauri in SKOS: RDF/XML, Turtle, N-Triples and JSON-LD, parsed by rdflib."""
