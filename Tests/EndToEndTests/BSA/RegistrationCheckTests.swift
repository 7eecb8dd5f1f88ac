import Glibc
import JSONRPC
import Testing
import UsherTestKit

/// Registration checks: who may call them, what usherctl prints, and what the log contains.
@Suite("BSA registration checks", .mayBlock, .timeLimit(.minutes(10)))
struct RegistrationCheckTests {
  private static let email: JSONValue = [
    "verifyType": "email", "verifyData": "canary-check@example.com",
  ]
  private static let phone: JSONValue = [
    "verifyType": "phoneNumber", "verifyData": "+447700911911",
  ]
  private static let userKey: JSONValue = ["userKey": "canary-key-5f"]

  private static func ask(_ fixture: BSAFixture, _ method: String, _ params: JSONValue) throws
    -> String
  {
    let reply = try fixture.app.reply(to: "registration.\(method)", params)
    return reply["error"]?["data"]?["reason"]?.stringValue ?? (reply["result"]?.text ?? "nothing")
  }

  @Test("a client rule permits BSA registration checks only for the methods and providers it names")
  func rules() throws {
    let sandbox = try SandboxUnderTest()
    let fixture = try BSAFixture(
      tables: """
        [[provider]]
        name = "other"
        type = "bsa"
        base_url = "\(sandbox.bsa)"
        client_key_credential = "bsa-client-key"
        app_package = "com.example.app"
        app_version = "1.0.0"
        registration_checks = true
        """,
      more: """
        [[client]]
        name = "till"
        match = { user = \(getuid()) }
        allow = ["registration.checkDuplicate bsa", "registration.* other"]
        """, passcode: nil, sandbox: sandbox)
    for (method, params, yes) in [
      ("checkDuplicate", Self.email, #"{"duplicate":false}"#),
      ("checkUserKey", Self.userKey, #"{"available":true}"#),
    ] {
      #expect(try Self.ask(fixture, method, params + ["provider": "other"]) == yes)
      let isNamed = method == "checkDuplicate"
      #expect(
        try Self.ask(fixture, method, params + ["provider": "bsa"])
          == (isNamed ? yes : "permission_denied"))
      // The refusal does not tell whether the provider exists.
      #expect(
        try Self.ask(fixture, method, params + ["provider": "nobody"]) == "permission_denied")
    }
    #expect(try fixture.requests("idCheck") == 1)
    #expect(try fixture.requests("duplicateCheck") == 2)
  }

  @Test("usherctl registration prints free or taken for BSA, or that registration_checks is off")
  func commands() throws {
    let fixture = try BSAFixture(passcode: nil)
    let checks = [
      ["check-duplicate", "--provider", "bsa", "--email", "canary-check@example.com"],
      ["check-duplicate", "--provider", "bsa", "--phone", "+44 7700 911911"],
      ["check-user-key", "canary-key-5f", "--provider", "bsa"],
    ]
    for (word, isTaken) in [("free\n", false), ("taken\n", true)] {
      for check in checks {
        let said = try fixture.daemon.usherctl(["registration"] + check)
        #expect(said.output == word, "\(check): \(said.errors)")
        #expect(said.status == 0)
      }
      guard !isTaken else { break }
      try fixture.registerElsewhere([
        "userKey": "canary-key-5f", "email": "canary-check@example.com",
        "phoneNum": "+447700911911",
      ])
    }
    let closed = try BSAFixture(["registration_checks": "false"], passcode: nil)
    let refused = try closed.daemon.usherctl(["registration"] + checks[0])
    #expect(refused.status == 77 && refused.errors.contains("registration_checks is off"))
    #expect(try closed.requestsInOrder() == [])
  }

  @Test("the log of a BSA registration check has no contact or key, whatever the provider answers")
  func journal() throws {
    let fixture = try BSAFixture(passcode: nil, logLevel: "trace")
    let answers: [JSONValue] = [
      ["rtCode": 0], ["rtCode": 2009], ["rtCode": 2012, "rtMsg": "canary-check@example.com"],
      ["text": "canary-check@example.com +447700911911 canary-key-5f", "status": 500],
    ]
    for answer in answers {
      for (endpoint, method, params) in [
        ("duplicateCheck", "checkDuplicate", Self.email),
        ("duplicateCheck", "checkDuplicate", Self.phone), ("idCheck", "checkUserKey", Self.userKey),
      ] {
        try fixture.answers(endpoint, answer)
        _ = try Self.ask(fixture, method, params + ["provider": "bsa"])
      }
    }
    let log = fixture.daemon.log
    #expect(log.contains("called provider"), "the log has no entry about the call: \(log)")
    for canary in ["canary", "447700911911", BSAFixture.clientKey] {
      #expect(!log.contains(canary))
    }
  }
}
