"""What can keep an embedder from being opened."""


class ModelFilesError(Exception):
    """The embedded model's files are not there or not what they should be; the text says which."""
