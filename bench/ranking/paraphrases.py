"""Questions that share few words with the module that answers them, written by hand."""

from __future__ import annotations

from typing import Final

PARAPHRASES: Final = {
    "argparse": "turn what somebody typed after the program's name into values",
    "ast": "look at the syntax of source code as a tree",
    "base64": "write binary bytes using only printable letters",
    "bisect": "find where to put an item so that the list stays ordered",
    "calendar": "which weekday does a month begin with",
    "configparser": "settings file with bracketed headings and key equals value lines",
    "copy": "duplicate an object together with everything inside it",
    "csv": "comma separated spreadsheet rows",
    "difflib": "show what changed between two versions of a text",
    "email.message": "headers and body of a mail",
    "fnmatch": "shell style wildcards for names",
    "fractions": "exact arithmetic with numerator and denominator",
    "ftplib": "upload something to a remote host with the old transfer protocol",
    "getpass": "ask for a secret without showing it on the terminal",
    "gzip": "shrink data the way the unix compressor does",
    "hashlib": "fingerprint of a message that nobody can forge",
    "heapq": "always take the smallest element first, priority queue",
    "http.server": "tiny web site for trying things out",
    "imaplib": "read the mailbox on a remote machine",
    "inspect": "which parameters does a callable take",
    "json.decoder": "parse javascript object notation",
    "linecache": "get one particular row of a source text for a traceback",
    "locale": "decimal comma and currency symbol by country",
    "logging.handlers": "rotate old records when the file gets too big",
    "mimetypes": "guess the content kind from a filename extension",
    "netrc": "saved login credentials for remote hosts in the home folder",
    "pickle": "save live objects to disk and restore them later",
    "pprint": "print nested structures nicely indented",
    "queue": "hand work from one thread to another in order of arrival",
    "random": "throw dice, shuffle a deck of cards",
    "sched": "run something later at a given moment",
    "shutil": "move a whole folder somewhere else",
    "smtplib": "send mail out through a relay",
    "statistics": "average, median and spread of a sample",
    "tarfile": "unix archive of many members",
    "tempfile": "scratch space that vanishes by itself",
    "textwrap": "break a paragraph into narrow columns",
    "unittest.mock": "replace a dependency by a fake that remembers how it was called",
    "uuid": "globally unique identifier nobody else has",
    "zipfile": "open the archive that windows users send",
}
"""For each module of the standard library what somebody might ask for."""
