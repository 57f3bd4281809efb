"""How long savings over millions of decisions take, and by which plans the database answers."""
