"""Reports: content that becomes one HTML page or Markdown, with tables and charts.

Nothing here knows what is reported on; it takes titles, tables, numbers and names.
"""
