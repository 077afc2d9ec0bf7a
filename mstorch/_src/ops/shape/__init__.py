"""Views, joins, and methods whose signature differs from that of the function."""
