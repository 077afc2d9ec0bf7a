"""Views, joins, and methods whose signature differs from the function's."""
