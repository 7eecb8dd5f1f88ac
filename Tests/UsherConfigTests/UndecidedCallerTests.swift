import Testing
import UsherAPI
import UsherConfig

/// Rules about executables, which the kernel does not tell about other users' processes.
@Suite("Rules about the executable of a caller")
struct UndecidedCallerTests {
  private static let names = PrincipalResolver(
    user: { ["till": 2000, "usherd": 990][$0] }, group: { ["usher": 50, "tills": 60][$0] })

  @Test(
    "a rule about the executable of another user's process is refused, unless the daemon is root",
    arguments: ["\"till\"", "2000", "0"])
  func unreadable(user: String) throws {
    let config = try load(
      client("{ user = \(user), executable = \"/usr/bin/till\" }", name: "tool"))
    let error = #expect(throws: ConfigError.self) {
      try Policy(config, daemonUser: 990, names: Self.names)
    }
    #expect(error?.description.contains("client[0].match.executable: can never match") == true)
    // A daemon that runs as root may read the executable of every process.
    _ = try Policy(config, daemonUser: 0, names: Self.names)
  }

  @Test("a client rule about an executable of the daemon's own user is accepted")
  func readable() throws {
    for match in [
      "{ user = \"usherd\", executable = \"/usr/bin/till\" }", "{ executable = \"/usr/bin/till\" }",
    ] {
      _ = try Policy(load(client(match)), daemonUser: 990, names: Self.names)
    }
  }
}
