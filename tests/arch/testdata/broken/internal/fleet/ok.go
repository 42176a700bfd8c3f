package fleet

var X int
