import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

@Suite("The claims parameter of sign-ins")
struct RequestedClaimsTests {
  private static let requested: [String: JSONValue] = [
    "userinfo": ["email": ["essential": true], "nickname": .null],
    "id_token": ["acr": ["essential": true, "values": ["gold", "silver"]]],
  ]

  private func started(
    _ claims: [String: JSONValue]?, _ change: (inout OIDCSettings) -> Void = { _ in }
  ) throws -> DrivenAuthorize {
    var params = OIDCAuthorize.Params()
    params.claims = claims
    return try DrivenAuthorize(params, settings: change)
  }

  @Test("claims are sent as JSON to a provider that supports the parameter")
  func sent() throws {
    var driven = try started(Self.requested)
    driven.toBrowser(metadata { $0.supportsClaims = true })
    let text = try #require(driven.query["claims"])
    #expect(try JSONValue(parsing: Array(text.utf8)) == .object(Self.requested))
    var signing = try started(Self.requested) {
      $0.clientCredential = "work-key"
      $0.signedRequests = .always
    }
    signing.toBrowser(metadata { $0.supportsClaims = true })
    guard case .proceed(let effects) = signing.last, case .sign(let object)? = effects.first else {
      Issue.record("the request is not signed")
      return
    }
    #expect(object.parameters["claims"] == .object(Self.requested))
  }

  @Test("a sign-in with claims fails at a provider that does not support the parameter")
  func unsupported() throws {
    var driven = try started(Self.requested)
    driven.receive(.discovered(.found(metadata())))
    #expect(driven.failure?.reason == .invalidRequest)
    #expect(driven.failure?.message.contains("claims_parameter_supported") == true)
    driven = try started(nil)
    driven.receive(.discovered(.found(metadata())))
    #expect(driven.failure == nil)
  }

  @Test("claims of another form or more than 4 KiB are refused, and so are those of oauth2 servers")
  func refused() throws {
    let long = String(repeating: "x", count: 4096)
    for claims in [
      ["other": [:]], ["userinfo": "email"], ["userinfo": ["email": true]],
      ["id_token": ["acr": ["gold"]]], ["userinfo": ["email": ["value": .string(long)]]],
    ] as [[String: JSONValue]] {
      let error = try #require(throws: UsherError.self) { _ = try started(claims) }
      #expect(error.reason == .invalidParams && error.detail.field == "params.claims")
    }
    var params = OIDCAuthorize.Params()
    params.claims = Self.requested
    let error = try #require(throws: UsherError.self) {
      _ = try DrivenAuthorize(provider: oauth2Provider(), params)
    }
    #expect(error.detail.field == "params.claims")
  }

  /// Returns why a sign-in with an ID token of this `acr` fails; nil if it succeeds.
  private func failure(
    acr: String?, _ driven: DrivenAuthorize
  ) throws -> Failure? {
    var driven = driven
    let metadata = metadata {
      $0.supportsClaims = true
      $0.userinfoEndpoint = nil
    }
    driven.toBrowser(metadata)
    let nonce = driven.query["nonce"]
    driven.receive(.redirected(AuthorizationResponse(code: Secret("code-secret"))))
    driven.receive(.called(try #require(driven.calls.first), .reply(tokenReply())))
    let payload = claims(nonce: nonce, ["acr": acr.map { .string($0) }]).encoded()
    driven.receive(.idTokenVerified(.genuine(payload: payload)))
    #expect((driven.completion == nil) == (driven.failure != nil))
    // The next sign-in demands at least the same.
    let demanded = driven.completion?.grant?.signInOptions?.acrValues
    #expect(driven.completion == nil || demanded?.split(separator: " ").contains("gold") == true)
    return driven.failure
  }

  @Test("an essential acr must be in the ID token, and any other claim need not be")
  func essential() throws {
    for (acr, isAccepted) in [
      ("silver", true), ("bronze", false), (nil, false),
    ] as [(String?, Bool)] {
      let refusal = try failure(acr: acr, started(Self.requested))
      #expect((refusal == nil) == isAccepted)
      #expect(isAccepted || refusal?.message.contains("acr") == true)
    }
  }

  @Test("an essential acr does not do without the classes of acr_values")
  func both() throws {
    for (acr, isAccepted) in [("gold", true), ("silver", false), ("platinum", false)] {
      let configured = try started(Self.requested) {
        $0.extraAuthorize["acr_values"] = "gold platinum"
      }
      #expect((try failure(acr: acr, configured) == nil) == isAccepted, "\(acr)")
      var params = OIDCAuthorize.Params(acrValues: "platinum gold")
      params.claims = Self.requested
      #expect((try failure(acr: acr, DrivenAuthorize(params)) == nil) == isAccepted, "\(acr)")
    }
  }
}
