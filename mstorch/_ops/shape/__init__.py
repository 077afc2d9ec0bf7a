"""Views, joins, and methods whose form is another than the function's."""
