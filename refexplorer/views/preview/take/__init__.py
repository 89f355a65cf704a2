"""What a person takes away of the values that were read: `netcdf` makes a file of them."""
