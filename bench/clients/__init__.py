"""What a client adds to a bare call: ``python -m bench.clients``.

For each size a real service prunes one generated session once; a server that only repeats that reply then
takes the calls, so that nothing but the way there and back is measured. Each language is a driver, a command

    COMMAND ADDRESS BODY_FILE CALLS

that makes CALLS pairs of calls, a bare one by the generated stub (the request made of the bytes, reply form
EDITS, the reply decoded) and one by the client, in turns, after one pair that is not counted. It prints one
JSON object, all numbers in milliseconds, of the CPU time of its whole process and of wall time:

    {"language": "Go", "forms": {"bytes": {"stub_cpu_ms": [...], "client_cpu_ms": [...],
                                           "stub_wall_ms": [...], "client_wall_ms": [...]}}}

``bytes`` is the body as bytes; a driver may add ``object``, the body as the language's JSON object. The
client's result must be another body, else the driver ends with a status other than 0. The limits of a call
are the server's. ``--driver 'COMMAND'`` adds a language's row.
"""
