import FoundationEssentials
import JSONRPC
import Testing
import UsherCore

@testable import UsherFlows

@Suite("Demands for SCA in Paysafe wallet replies")
struct SCADemandTests {
  static let details: JSONValue = [
    "eventId": "evt-1", "walletOperationId": "wop-1", "authenticationMode": "EMBEDDED",
    "availableVerifications": [
      ["method": "OTP", "channel": "SMS", "target": "+44 •••\u{1B} 123"], ["method": "PIN"],
    ],
    "creationTime": "2027-01-15T08:00:00Z", "expirationTime": "2027-01-15T08:15:00Z",
  ]

  /// Returns `{"scaDetails": …}` in Base64.
  static func encoded(_ details: JSONValue = details) -> String {
    Data((["scaDetails": details] as JSONValue).encoded()).base64EncodedString()
  }

  static func header(_ challenge: String, status: Int = 401) -> HTTPReply {
    reply([:], status: status, headers: ["www-authenticate": challenge])
  }

  static let byHeader = header(#"SCA realm="Authentication", auth-param1="\#(encoded())""#)

  private func demand(_ form: PaysafeCall.Approval.Form) throws -> SCADemand {
    let reply = form == .header ? Self.byHeader : reply(["scaDetails": Self.details])
    guard case .demand(let demand)? = SCADemand.find(in: reply) else {
      throw UnusableReply("no demand")
    }
    return demand
  }

  @Test("Paysafe's demand for SCA has the same members in a header and in a body (trap 3)")
  func forms() throws {
    for form in [PaysafeCall.Approval.Form.header, .body] {
      let demand = try demand(form)
      #expect(demand.eventID == "evt-1" && demand.walletOperationID == "wop-1")
      #expect(
        demand.available == [
          .init(.sms, target: "+44 ••• 123"), .init(.pin),
        ])
      #expect(demand.expiresAt == Timestamp(rfc3339: "2027-01-15T08:15:00Z"))
      #expect(demand.form == form)
    }
  }

  @Test(
    "Paysafe's scheme SCA is found in WWW-Authenticate in any letter case, beside quoted commas",
    arguments: [
      #"Bearer realm="a, b", error="invalid_token", SCA realm="x", auth-param1="B64""#,
      #"SCA realm="Authentication, \"quoted, twice\"", auth-param1="B64", Bearer realm="SCA x""#,
      #"sca AUTH-PARAM1=B64"#, #"SCA auth-param1 = "B64""#,
      #"Negotiate, SCA auth-param1="B64", realm="y""#,
      #"SCA auth-param1="!", SCA auth-param1="B64""#,
      #"SCA auth-param1="B64", SCA auth-param1="!""#,
      #"SCA, SCA auth-param1="B64""#,
    ])
  func headers(form: String) {
    let reading = SCADemand.find(
      in: Self.header(form.replacing("B64", with: Self.encoded())))
    guard case .demand(let demand)? = reading else {
      Issue.record("the demand is not decoded: \(form)")
      return
    }
    #expect(demand.eventID == "evt-1")
  }

  @Test(
    "a malformed SCA header of Paysafe is unreadable; the access token does not count as refused",
    arguments: [
      "SCA", #"SCA realm="Authentication""#, #"SCA auth-param1="%%%""#, #"SCA auth-param1="""#,
      #"SCA auth-param1="e30=""#, #"SCA auth-param1="bm8=""#, #"SCA other-param="B64""#,
      #"SCA realm="x", Bearer auth-param1="B64""#,
    ])
  func unreadableHeaders(form: String) {
    let reply = Self.header(form.replacing("B64", with: Self.encoded()))
    guard case .unreadable? = SCADemand.find(in: reply) else {
      Issue.record("the demand is not unreadable: \(form)")
      return
    }
    #expect(!PaysafeCall.event(WalletReplies.event).refusesToken(reply))
  }

  @Test(
    "a Paysafe demand for SCA without valid ids or with an unusable list is unreadable",
    arguments: [
      ("eventId", nil), ("eventId", ""), ("eventId", " "), ("eventId", "a\u{0}"), ("eventId", 1),
      ("eventId", "."), ("eventId", ".."),
      ("walletOperationId", nil), ("walletOperationId", "\n"),
      ("walletOperationId", .string(String(repeating: "x", count: 257))),
      ("availableVerifications", [[:]]), ("availableVerifications", ["PIN"]),
      ("availableVerifications", "PIN"),
    ] as [(String, JSONValue?)])
  func unreadable(name: String, value: JSONValue?) {
    var details = Self.details
    details[name] = value
    for answer in [
      reply(["scaDetails": details]), Self.header("SCA auth-param1=\(Self.encoded(details))"),
    ] {
      guard case .unreadable? = SCADemand.find(in: answer) else {
        Issue.record("the demand is not unreadable: \(name)")
        continue
      }
    }
  }

  @Test("a Paysafe demand for SCA skips malformed verifications, and a missing list means any")
  func lists() throws {
    var details = Self.details
    details["availableVerifications"] = [
      ["method": "otp"], ["method": "PIN", "target": " "], 7, ["channel": "SMS"],
      ["method": "OTP", "channel": "s"], ["method": "UNHEARD_OF"],
    ]
    guard case .demand(let demand)? = SCADemand.find(in: reply(["scaDetails": details])) else {
      Issue.record("the demand is not decoded")
      return
    }
    #expect(demand.available == [.init(.pin), .init(.init(method: "UNHEARD_OF"))])
    for none: JSONValue? in [nil, .null, []] {
      details["availableVerifications"] = none
      guard case .demand(let demand)? = SCADemand.find(in: reply(["scaDetails": details]))
      else {
        Issue.record("the demand is not decoded")
        continue
      }
      #expect(demand.available.isEmpty)
    }
  }

  @Test("Paysafe's demand for SCA in a body is read with any 2xx or 4xx, even with a wrong expiry")
  func bodies() throws {
    var details = Self.details
    details["expirationTime"] = "soon"
    for status in [200, 201, 202, 400, 401, 403, 409] {
      guard
        case .demand(let demand)? = SCADemand.find(
          in: reply(["scaDetails": details], status: status))
      else {
        Issue.record("the demand with status \(status) is not decoded")
        continue
      }
      #expect(demand.form == .body && demand.expiresAt == nil)
    }
  }

  @Test(
    "a Paysafe reply without scaDetails or with another status is no demand for SCA (trap 3)",
    arguments: [
      reply([:]), reply(["scaDetails": nil]), reply([["scaDetails": [:]]]), reply(text: "x"),
      reply(["scaDetails": details], status: 500), reply(["scaDetails": details], status: 302),
      header(#"Bearer error="invalid_token""#), header("Basic U0NB"), header("SCARF a=b"),
      header(#"Bearer realm="SCA auth-param1=x""#), header(""),
      header(#"SCA auth-param1="e30=""#, status: 403), reply([:], status: 401),
    ])
  func nothing(reply: HTTPReply) {
    #expect(SCADemand.find(in: reply) == nil)
  }

  @Test("only a 401 without a demand for SCA means that Paysafe refuses the access token (trap 3)")
  func refusesToken() {
    let call = PaysafeCall.operation(
      WalletOperation(method: .get, path: "/x"), account: AccountID("acc_1"), approval: nil)
    #expect(call.refusesToken(Self.header(#"Bearer error="invalid_token""#)))
    #expect(call.refusesToken(reply([:], status: 401)))
    #expect(!call.refusesToken(Self.byHeader))
    #expect(!call.refusesToken(reply(["scaDetails": Self.details], status: 401)))
    #expect(!call.refusesToken(reply([:], status: 403)))
    #expect(!PaysafeCall.configToken(brand: "acme").refusesToken(reply([:], status: 401)))
  }
}
