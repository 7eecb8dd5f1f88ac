import Testing
import UsherAPI
import UsherConfig

/// Rules by what the kernel may not tell: programs of other users, and groups that a process left.
@Suite("Rules about what a process can hide")
struct UndecidedCallerTests {
  private static let names = PrincipalResolver(
    user: { ["till": 2000, "usherd": 990][$0] }, group: { ["usher": 50, "tills": 60][$0] })

  @Test(
    "a rule by the program of another user's process is an error of the configuration",
    arguments: ["\"till\"", "2000", "0"])
  func unreadable(user: String) throws {
    let config = try load(
      client("{ user = \(user), executable = \"/usr/bin/till\" }", name: "tool"))
    let error = #expect(throws: ConfigError.self) {
      try Policy(config, daemonUser: 990, names: Self.names)
    }
    #expect(error?.description.contains("client[0].match.executable: can never match") == true)
    // root may look at every process.
    _ = try Policy(config, daemonUser: 0, names: Self.names)
  }

  @Test("a rule by a program of the daemon's own user is none")
  func readable() throws {
    for match in [
      "{ user = \"usherd\", executable = \"/usr/bin/till\" }", "{ executable = \"/usr/bin/till\" }",
    ] {
      _ = try Policy(load(client(match)), daemonUser: 990, names: Self.names)
    }
  }
}
