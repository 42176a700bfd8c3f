// Package fakenvml builds a stand-in for libnvidia-ml.so.1 with gcc against the
// header that go-nvml ships, so that tests run the agent's real adapter, real
// child process and real dynamic loading without a card.
//
// The library reads a control file before every call, so a test changes the
// machine while it runs: the number of cards, a lost card, a hang in a named
// call, impossible figures, Xid events. What a library lacks is decided when it
// is built. It is test support: nothing outside tests may import it.
package fakenvml
