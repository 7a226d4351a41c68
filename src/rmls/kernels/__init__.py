"""The hot loops, behind one seam: `backend` has the operations, `arrays` what they exchange."""
