import JSONRPC
import Testing
import UsherCommands

@Suite("usherctl registration", .timeLimit(.minutes(10)))
struct RegistrationTests {
  private static let email: JSONValue = [
    "provider": "bsa", "verifyType": "email", "verifyData": "ada@example.com",
  ]
  private static let phone: JSONValue = [
    "provider": "bsa", "verifyType": "phoneNumber", "verifyData": "+447700900123",
  ]

  @Test(
    "usherctl registration check-duplicate prints whether an address or number is taken",
    arguments: [
      ("--email ada@example.com", email, true, "taken\n"),
      ("--email ada@example.com", email, false, "free\n"),
      ("--phone +447700900123", phone, true, "taken\n"),
    ])
  func duplicate(options: String, params: JSONValue, isTaken: Bool, output: String) async throws {
    let outcome = try await usherctl(
      "registration check-duplicate --provider bsa \(options)",
      asking: [.ask("registration.checkDuplicate", params, #"{"duplicate":\#(isTaken)}"#)])
    #expect(outcome.output == output)
    #expect(outcome.error == "")
    #expect(outcome.status == 0)
  }

  @Test(
    "usherctl registration check-user-key prints whether the key is free", arguments: [true, false])
  func userKey(isFree: Bool) async throws {
    let outcome = try await usherctl(
      "registration check-user-key ada.1815 --provider bsa",
      asking: [
        .ask(
          "registration.checkUserKey", ["provider": "bsa", "userKey": "ada.1815"],
          #"{"available":\#(isFree)}"#)
      ])
    #expect(outcome.output == (isFree ? "free\n" : "taken\n"))
    #expect(outcome.status == 0)
  }

  @Test("usherctl registration exits with 64 without a call if a required option is missing")
  func usage() async {
    for line in ["--provider bsa", "--provider bsa --email a@b --phone 07700900123"] {
      let outcome = await usherctl("registration check-duplicate \(line)")
      #expect(outcome.status == 64)
      #expect(outcome.error.contains("Name an address with --email, or a number with --phone."))
    }
    for line in ["check-duplicate --email a@b", "check-user-key ada.1815", "check-user-key"] {
      let outcome = await usherctl("registration \(line)")
      #expect(outcome.status == 64)
      #expect(outcome.output == "")
    }
  }

  @Test("usherctl registration exits with 77, 75 or 1 for a refused check and prints the reason")
  func refused() async throws {
    let word = #","provider":{"name":"bsa","code":"2012","title":"MAINTENANCE"}"#
    let limit = #","limit":"registration_checks_per_minute","retryAfterMs":2000"#
    let cases =
      [
        (
          Reply.error(-32001, "permission_denied", "registration_checks is off"), 77,
          "usherctl: registration_checks is off\n"
        ),
        (
          Reply.error(-32002, "rate_limited", "too often", more: limit), 75,
          """
          usherctl: too often
          the limit is registration_checks_per_minute
          try again in 2 s

          """
        ),
        (
          Reply.error(1301, "provider_rejected", "the server is being maintained", more: word), 1,
          """
          usherctl: the server is being maintained
          bsa said: 2012: MAINTENANCE

          """
        ),
      ] as [(String, Int32, String)]
    for (reply, status, error) in cases {
      let outcome = try await usherctl(
        "registration check-duplicate --provider bsa --email ada@example.com",
        asking: [.refuse("registration.checkDuplicate", Self.email, reply)])
      #expect(outcome.error == error)
      #expect(outcome.output == "")
      #expect(outcome.status == status)
    }
  }
}
