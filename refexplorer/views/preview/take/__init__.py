"""What a person takes away of the values that were read: `netcdf`, `cells` make files of them."""
