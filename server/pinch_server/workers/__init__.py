"""The processes of one service: their ports, their memory, their orders, and who starts them anew."""
