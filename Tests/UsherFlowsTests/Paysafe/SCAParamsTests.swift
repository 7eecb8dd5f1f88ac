import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

@Suite("Parameters of Paysafe sca")
struct SCAParamsTests {
  private func refusedField(
    _ change: (inout PaysafeSCA.Params) -> Void
  ) throws -> String? {
    do {
      _ = try DrivenSCA(wanting: nil, change)
      return nil
    } catch let error as UsherError {
      #expect(error.reason == .invalidParams)
      #expect(error.message.contains(error.detail.field ?? "?"))
      return error.detail.field
    }
  }

  @Test("Paysafe sca refuses blank, long or unprintable ids with an error that names the field")
  func identifiers() throws {
    let long = String(repeating: "x", count: 257)
    for bad in ["", " ", "\t\n", "\u{2003}", "a\u{0}b", "a\nb", "a\u{7F}", ".", "..", long] {
      #expect(try refusedField { $0.eventId = bad } == "params.eventId")
      #expect(try refusedField { $0.walletOperationId = bad } == "params.walletOperationId")
    }
    #expect(try refusedField { $0.eventId = String(long.dropLast()) } == nil)
    #expect(try refusedField { $0.eventId = "évt 1/../2?" } == nil)
  }

  @Test(
    "Paysafe sca accepts every spelling of a usable verification and refuses others (trap 4)",
    arguments: [
      ("OTP", "SMS", true), ("OTP", "EMAIL", true), ("OTP", "AUTHENTICATOR", true),
      ("AUTHENTICATOR", nil, true), ("AUTHENTICATOR", "AUTHENTICATOR", true),
      ("PIN", nil, true), ("PASSWORD", nil, true), ("PUSH_NOTIFICATION", nil, true),
      ("PUSH_NOTIFICATION", "PUSH_NOTIFICATION", true), ("OTP", "PUSH_NOTIFICATION", true),
      ("BIOMETRIC", "PUSH_NOTIFICATION", true), ("BIOMETRIC", "REDIRECT", true),
      ("PIN", "REDIRECT", true),
      ("PASSKEYS", nil, false), ("PASSKEYS", "REDIRECT", false), ("BIOMETRIC", nil, false),
      ("BIOMETRIC", "SMS", false), ("OTP", nil, false), ("OTP", "PIGEON", false),
      ("PIN", "SMS", false), ("PASSWORD", "AUTHENTICATOR", false),
      ("PUSH_NOTIFICATION", "SMS", false),
      ("SMOKE", nil, false), ("SMOKE", "REDIRECT", false), ("SMOKE", "PUSH_NOTIFICATION", false),
      ("otp", "sms", false), ("", nil, false), ("OTP", "", false),
    ] as [(String, String?, Bool)])
  func verifications(method: String, channel: String?, isTaken: Bool) throws {
    let field = try refusedField {
      $0.verification = .init(method: method, channel: channel)
      $0.returnUrl = WalletReplies.returnURL
    }
    #expect(field == (isTaken ? nil : "params.verification"))
  }

  @Test("Paysafe sca refuses a verification that the given list lacks, unless the list is empty")
  func notAvailable() throws {
    let offered: [PaysafeSCA.Available] = [
      .init(method: "OTP", channel: "SMS"),
      .init(method: "BIOMETRIC", channel: "PUSH_NOTIFICATION"),
    ]
    let field = try refusedField {
      $0.availableVerifications = offered
      $0.verification = .pin
    }
    #expect(field == "params.verification")
    // REDIRECT verifications of different methods are not interchangeable.
    let page = try refusedField {
      $0.availableVerifications = [.init(method: "PIN", channel: "REDIRECT")]
      $0.verification = .redirect
      $0.returnUrl = WalletReplies.returnURL
    }
    #expect(page == "params.verification")
    for (verification, list) in [
      (PaysafeCall.Verification.sms, offered), (.push, offered), (.pin, []),
    ] {
      let field = try refusedField {
        $0.availableVerifications = list
        $0.verification = verification
      }
      #expect(field == nil)
    }
  }

  @Test("Paysafe sca refuses a malformed or too long list of verifications")
  func lists() throws {
    let many = Array(repeating: PaysafeSCA.Available(method: "PIN"), count: 33)
    for list in [
      many, [.init(method: "")], [.init(method: "OTP", channel: "s m s")],
      [.init(method: "OTP", channel: "")], [.init(method: String(repeating: "A", count: 65))],
    ] {
      #expect(
        try refusedField { $0.availableVerifications = list } == "params.availableVerifications")
    }
  }

  @Test("Paysafe sca needs a returnUrl for REDIRECT")
  func redirectWithoutReturnURL() throws {
    #expect(try refusedField { $0.verification = .redirect } == "params.returnUrl")
  }

  @Test(
    "Paysafe sca accepts a returnUrl only with https, or with http on loopback",
    arguments: [
      ("https://shop.example/back?a=b", true), ("http://127.0.0.1:9/back", true),
      ("http://[::1]:9/back", true), ("http://shop.example/back", false), ("/back", false),
      ("javascript:alert(1)", false), ("https://shop.example/#x", false),
      ("https://me@shop.example/", false), ("", false), ("https://", false),
      ("https://shop.example/a b", false), ("myapp://back", false),
      ("https://shop.example/" + String(repeating: "x", count: 2048), false),
    ] as [(String, Bool)])
  func returnURLs(url: String, isTaken: Bool) throws {
    #expect(try refusedField { $0.returnUrl = url } == (isTaken ? nil : "params.returnUrl"))
  }

  @Test(
    "Paysafe sca refuses operation texts that are blank, over 256 bytes or have control characters")
  func operation() throws {
    let good = Operation(summary: "Pay", amount: "120.00 EUR", payee: "Bäckerei  Müller")
    #expect(try refusedField { $0.operation = good } == nil)
    for bad in ["", "  ", "a\nb", "\u{202E}live", "a\u{1B}[2J", String(repeating: "x", count: 257)]
    {
      #expect(
        try refusedField {
          $0.operation = Operation(summary: bad, amount: "1", payee: "p")
        } == "params.operation.summary")
      #expect(
        try refusedField {
          $0.operation = Operation(summary: "s", amount: bad, payee: "p")
        } == "params.operation.amount")
      #expect(
        try refusedField {
          $0.operation = Operation(summary: "s", amount: "1", payee: bad)
        } == "params.operation.payee")
    }
  }

  @Test(
    "Paysafe sca accepts only a language tag as the language",
    arguments: [
      ("en", true), ("en-GB", true), ("zh-Hant-TW", true), ("", false), ("e", false),
      ("en_GB", false), ("en-", false), ("1a", false),
      ("en-" + String(repeating: "a", count: 9), false),
    ])
  func language(tag: String, isTaken: Bool) throws {
    #expect(try refusedField { $0.language = tag } == (isTaken ? nil : "params.language"))
  }

  @Test("Paysafe sca and operation need an account")
  func account() throws {
    #expect(PaysafeSCA.needsAccount && PaysafeOperation.needsAccount)
    let origin = FlowContext<PaysafeSettings>(
      provider: try Provider(DrivenPaysafeAuthorize.provider())!, account: nil, requestID: "req-1")
    var moment = moment()
    do {
      _ = try PaysafeSCA.begin(
        .init(eventId: "e", walletOperationId: "w"), origin, at: &moment)
      Issue.record("the flow starts without an account")
    } catch {
      #expect(error.detail.field == "params.account")
    }
  }

  @Test("Paysafe sca refuses unknown, missing or mistyped parameters")
  func strict() throws {
    let schema = StrictDecoding.schema(of: PaysafeSCA.Params.self)
    let good: JSONValue = [
      "account": "acc_1", "eventId": "e", "walletOperationId": "w", "language": "en",
      "returnUrl": "https://shop.example/", "verification": ["method": "OTP", "channel": "SMS"],
      "availableVerifications": [["method": "PIN"], ["method": "OTP", "target": "x"]],
      "operation": ["summary": "s", "amount": "1", "payee": "p"],
    ]
    let params = try StrictDecoding.decode(
      PaysafeSCA.Params.self, from: good, schema: schema, prefix: "params")
    #expect(params.availableVerifications?.map(\.method) == ["PIN", "OTP"])
    let wrong: [(String, JSONValue?, String)] = [
      ("eventId", nil, "params.eventId"), ("stray", 1, "params.stray"),
      ("verification", ["method": "OTP", "stray": 1], "params.verification.stray"),
      ("availableVerifications", [["channel": "SMS"]], "params.availableVerifications.0.method"),
      ("operation", ["summary": "s", "amount": "1"], "params.operation.payee"),
    ]
    for (name, value, field) in wrong {
      var changed = good
      changed[name] = value
      do {
        _ = try StrictDecoding.decode(
          PaysafeSCA.Params.self, from: changed, schema: schema, prefix: "params")
        Issue.record("the flow accepts \(name)")
      } catch {
        #expect(error.detail.field == field)
      }
    }
  }
}
