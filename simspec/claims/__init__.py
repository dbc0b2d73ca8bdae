"""Theory claims as data, and the judge that decides them."""
