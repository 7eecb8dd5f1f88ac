import JSONRPC
import Testing
import UsherCommands

@Suite("usherctl credential", .timeLimit(.minutes(10)))
struct CredentialTests {
  private func set(_ terminal: ScriptedTerminal, expecting value: String) async throws -> Outcome {
    try await usherctl(
      "credential set key", terminal: terminal,
      asking: [
        .ask("credential.set", ["name": "key", "value": .string(value)], "{}")
      ], sockets: ["USHER_ADMIN_SOCKET"])
  }

  @Test("usherctl credential set removes one newline at the end of the value and no more")
  func newline() async throws {
    // ScriptedTerminal joins its lines with newlines.
    for (typed, value) in [
      (["s3cret", ""], "s3cret"), (["s3cret"], "s3cret"), (["a", "b", "", ""], "a\nb\n"),
      (["a\r", ""], "a"), ([" a "], " a "),
    ] {
      let outcome = try await set(ScriptedTerminal(typed), expecting: value)
      #expect(outcome.error == "credential key stored\n")
      #expect(outcome.output == "")
      #expect(outcome.status == 0)
    }
  }

  @Test("usherctl credential set on a terminal asks for the value and hides it")
  func hidden() async throws {
    let terminal = ScriptedTerminal(["s3cret"], interactive: true)
    let outcome = try await set(terminal, expecting: "s3cret")
    #expect(terminal.hiddenLines == ["s3cret"])
    #expect(outcome.error == "value of key (not shown): \ncredential key stored\n")
  }

  @Test("usherctl credential set refuses an empty value and one that is too long")
  func refused() async {
    let long = String(repeating: "x", count: 65_537)
    for (typed, message) in [
      ([], "the value is empty"), (["", ""], "the value is empty"),
      ([long], "the value is longer than 65536 bytes"),
    ] {
      let outcome = await usherctl("credential set key", terminal: ScriptedTerminal(typed))
      #expect(outcome.error == "usherctl: \(message)\n")
      #expect(outcome.status == 1)
    }
  }

  @Test("usherctl credential list prints the names, and usherctl credential delete removes one")
  func others() async throws {
    let reply = #"{"credentials":[{"name":"key","source":"store","setAt":"2030-01-01T00:00:00Z"}]}"#
    let list = try await usherctl(
      "credential list", asking: [.ask("credential.list", reply)], sockets: ["USHER_ADMIN_SOCKET"])
    #expect(list.output == "NAME  SOURCE  SET\nkey   store   2030-01-01T00:00:00Z\n")
    let delete = try await usherctl(
      "credential delete key", asking: [.ask("credential.delete", ["name": "key"], "{}")],
      sockets: ["USHER_ADMIN_SOCKET"])
    #expect(delete.error == "credential key deleted\n")
  }
}
