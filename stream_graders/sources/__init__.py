"""Files of the sources' own forms, read as checks of ours: one module a form, with a function ``checks``."""
