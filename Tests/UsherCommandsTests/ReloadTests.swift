import Testing
import UsherCommands

@Suite("usherctl reload", .timeLimit(.minutes(10)))
struct ReloadTests {
  private func reload(_ reply: String, _ arguments: String = "") async throws -> Outcome {
    try await usherctl(
      "reload \(arguments)", asking: [.ask("system.reload", reply)], sockets: ["USHER_ADMIN_SOCKET"]
    )
  }

  private static let problems = """
    {"problems":[{"file":"/etc/usherd/usherd.toml","line":3,"column":9,"key":"log.level",\
    "message":"must be a level"},{"message":"an address is taken"}]}
    """

  @Test("usherctl reload reports success if the configuration has no problems")
  func done() async throws {
    let outcome = try await reload(#"{"problems":[]}"#)
    #expect(outcome.error == "reloaded\n" && outcome.output.isEmpty && outcome.status == 0)
  }

  @Test("usherctl reload prints problems as config check does, and exits with 1")
  func problems() async throws {
    let outcome = try await reload(Self.problems)
    #expect(
      outcome.error == """
        usherctl: /etc/usherd/usherd.toml:3:9: log.level: must be a level
        usherctl: an address is taken

        """)
    #expect(outcome.status == 1)
  }

  @Test("usherctl reload --json prints the daemon's reply and keeps the exit status")
  func json() async throws {
    let outcome = try await reload(Self.problems, "--json")
    #expect(outcome.output.hasPrefix(#"{"problems":[{"#) && outcome.status == 1)
    let good = try await reload(#"{"problems":[]}"#, "--json")
    #expect(good.output == "{\"problems\":[]}\n" && good.status == 0)
  }
}
