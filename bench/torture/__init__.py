"""A real service is killed, its database taken away, its disk filled: is an acknowledged decision lost?"""
