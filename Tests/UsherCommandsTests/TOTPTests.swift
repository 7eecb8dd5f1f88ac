import JSONRPC
import Testing
import UsherCommands

@Suite("usherctl totp", .timeLimit(.minutes(10)))
struct TOTPTests {
  private static func reply(_ code: String, until end: String = "00:42") -> String {
    #"{"code":"\#(code)","periodSeconds":60,"expiresAt":"2030-01-01T00:\#(end)Z"}"#
  }

  private func code(_ line: String, _ params: JSONValue, _ reply: String) async throws -> Outcome {
    try await usherctl(line, asking: [.ask("totp.code", params, reply)])
  }

  @Test("usherctl totp code prints only the code as output, and its validity as a note")
  func code() async throws {
    for (line, params) in [
      ("totp code bsa", ["provider": "bsa"]), ("totp code --account acc_1", ["account": "acc_1"]),
    ] as [(String, JSONValue)] {
      let outcome = try await code(line, params, Self.reply("081804"))
      #expect(outcome.output == "081804\n")
      #expect(outcome.error == "valid for another 42 s\n")
      #expect(outcome.status == 0)
    }
  }

  @Test("usherctl totp code says if the code has already expired")
  func late() async throws {
    let outcome = try await code(
      "totp code bsa", ["provider": "bsa"], Self.reply("081804", until: "00:00"))
    #expect(outcome.output == "081804\n")
    #expect(outcome.error == "expired\n")
  }

  @Test("usherctl totp code does not print a code with invalid characters")
  func noCode() async throws {
    for text in [#"08\u001b[2J"#, "08 04", "\u{0661}"] {
      let outcome = try await code("totp code bsa", ["provider": "bsa"], Self.reply(text))
      #expect(outcome.output == "")
      #expect(outcome.error == "usherctl: the code from usherd has characters other than digits\n")
      #expect(outcome.status == 1)
    }
  }

  @Test("usherctl totp list prints the accounts with one-time codes")
  func list() async throws {
    let reply = #"""
      {"accounts":[{"account":"acc_1","provider":"bsa","label":"ada","periodSeconds":60,\#
      "digits":6}]}
      """#
    let outcome = try await usherctl(
      "totp list --provider bsa", asking: [.ask("totp.list", ["provider": "bsa"], reply)])
    #expect(
      outcome.output == """
        ACCOUNT  PROVIDER  LABEL  DIGITS  PERIOD
        acc_1    bsa       ada    6       60 s

        """)
    let none = try await usherctl(
      "totp list", asking: [.ask("totp.list", #"{"accounts":[]}"#)])
    #expect(none.output == "" && none.error == "no accounts with one-time codes\n")
  }
}
