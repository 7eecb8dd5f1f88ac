import JSONRPC
import Testing
import UsherCommands

@Suite("usherctl consent", .timeLimit(.minutes(10)))
struct ConsentVerbTests {
  private static let reply = #"""
    {"consents":[{"account":"acc_1","provider":"freedom","client":"till",\#
    "grant":"read.email","grantedAt":"2030-01-01T00:00:00Z",\#
    "expiresAt":"2030-02-01T00:00:00Z","grantedBy":1000},{"account":"acc_1",\#
    "provider":"freedom","client":"(user)","grant":"read.phone\u001b[2J",\#
    "grantedAt":"2030-01-01T00:00:00Z","expiresAt":"2030-02-01T00:00:00Z","grantedBy":1000}]}
    """#

  @Test("usherctl consent list prints each consent without control characters")
  func list() async throws {
    let outcome = try await usherctl("consent list", asking: [.ask("consent.list", Self.reply)])
    #expect(
      outcome.output == """
        ACCOUNT  PROVIDER  CLIENT  GRANT           GRANTED               EXPIRES               BY
        acc_1    freedom   till    read.email      2030-01-01T00:00:00Z  2030-02-01T00:00:00Z  uid 1000
        acc_1    freedom   (user)  read.phone\u{FFFD}[2J  2030-01-01T00:00:00Z  2030-02-01T00:00:00Z  uid 1000

        """)
    #expect(outcome.status == 0)
  }

  @Test("usherctl consent list sends its filters and says if there are no consents")
  func narrowed() async throws {
    let outcome = try await usherctl(
      "consent list --provider freedom --account acc_1",
      asking: [
        .ask(
          "consent.list", ["provider": "freedom", "account": "acc_1"], #"{"consents":[]}"#)
      ])
    #expect(outcome.error == "no consents\n")
    #expect(outcome.status == 0)
  }

  @Test(
    "usherctl consent revoke prints how many consents were revoked",
    arguments: [
      ("freedom", ["provider": "freedom"], 2, "revoked 2 consents\n"),
      (
        "--account acc_1 --client till --grant read.email",
        ["account": "acc_1", "client": "till", "grant": "read.email"], 1, "revoked 1 consent\n"
      ),
      (
        "freedom --client (user)", ["provider": "freedom", "client": "(user)"], 0,
        "revoked 0 consents\n"
      ),
    ] as [(String, JSONValue, Int, String)])
  func revoke(options: String, params: JSONValue, count: Int, output: String) async throws {
    let outcome = try await usherctl(
      "consent revoke \(options)",
      asking: [.ask("consent.revoke", params, #"{"revoked":\#(count)}"#)])
    #expect(outcome.output == output)
    #expect(outcome.status == 0)
  }
}
