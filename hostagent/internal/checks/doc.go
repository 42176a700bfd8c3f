// Package checks judges whether a host is fit to share its GPUs, and says what to
// do where it is not. It is pure: whoever reads the host fills in Facts, All
// returns one Result for each check in a fixed order, and Ready says whether the
// host may take its first sharing task.
//
// What could not be learned is Unknown and blocks nothing by itself; a fact that
// is known to be wrong is Failed when sharing cannot work or cannot be bounded,
// and Warned when it works less well.
package checks
