import Crypto
import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherTestKit

@testable import UsherFlows

@Suite("OIDC tokens by a signed assertion")
struct JWTBearerTests {
  private static let key = P256.Signing.PrivateKey()

  private struct Driven: AnsweredMachine {
    var flow: OIDCJWTBearerGrant
    private(set) var last: Answer<OIDCCall>
    private var moment = UsherFlowsTests.moment()

    init(
      _ params: OIDCJWTBearerGrant.Params = .init(),
      _ change: (inout OIDCJWTBearer) -> Void = { _ in }
    ) throws {
      (flow, last) = try OIDCJWTBearerGrant.begin(
        params,
        FlowContext<OIDCSettings>(
          provider: Provider(try JWTBearerTests.robot(change))!, account: nil, requestID: "req-1"),
        at: &moment)
    }

    @discardableResult
    mutating func receive(_ event: FlowEvent<OIDCCall>) -> Answer<OIDCCall> {
      last = flow.receive(event, at: &moment)
      return last
    }

    mutating func toRequest() { receive(.discovered(.found(metadata()))) }

    mutating func answer(_ outcome: CallOutcome) {
      if let call = calls.first { receive(.called(call, outcome)) }
    }
  }

  private static func robot(
    _ change: (inout OIDCJWTBearer) -> Void = { _ in }
  ) throws -> ProviderConfig {
    try provider {
      $0.jwtBearer.keyCredential = "robot-key"
      $0.jwtBearer.subjects = ["ada"]
      change(&$0.jwtBearer)
    }
  }

  /// Returns the form of a request, and the header and claims of its assertion, whose signature is
  /// verified.
  private func request(
    _ call: OIDCCall, _ change: (inout OIDCJWTBearer) -> Void = { _ in }
  ) throws -> (form: [String: String], header: JSONValue, claims: JSONValue) {
    let request = try call.rendered(
      at: try Self.robot(change), credentials: ["robot-key": Secret(Self.key.pemRepresentation)])
    #expect(request.url == issuer + "/token")
    let fields = FormEncoding.decode(request.body?.revealed() ?? "") ?? []
    let form = Dictionary(fields.map { ($0.name, $0.value) }) { first, _ in first }
    let parts = (form["assertion"] ?? "").split(separator: ".").map(String.init)
    try #require(parts.count == 3)
    let signature = try P256.Signing.ECDSASignature(
      rawRepresentation: try #require(Base64URL.decode(parts[2])))
    let signed = Array("\(parts[0]).\(parts[1])".utf8)
    #expect(Self.key.publicKey.isValidSignature(signature, for: signed))
    return (
      form, try JSONValue(parsing: try #require(Base64URL.decode(parts[0]))),
      try JSONValue(parsing: try #require(Base64URL.decode(parts[1])))
    )
  }

  @Test("the request has a signed assertion, the scope, and no authentication of a public client")
  func request() throws {
    let call = OIDCCall.jwtBearer(.init(subject: "ada", scope: "a b"), metadata())
    let (form, header, claims) = try request(call)
    #expect(form["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer")
    #expect(form["scope"] == "a b" && form["client_id"] == nil)
    #expect(header["alg"] == "ES256" && header["typ"] == "JWT")
    #expect(claims["iss"] == "usher" && claims["sub"] == "ada")
    #expect(claims["aud"] == .string(issuer) && claims["scope"] == nil)
    #expect(claims["jti"]?.stringValue?.isEmpty == false)
    let seconds = now.milliseconds / 1000
    #expect(claims["exp"]?.integerValue == seconds + 60)
    #expect(claims["iat"]?.integerValue == seconds - 5)
  }

  @Test("issuer, audience, key id and the scope as a claim are those of the configuration")
  func configured() throws {
    let call = OIDCCall.jwtBearer(.init(subject: "ada", scope: "a b"), metadata())
    let (form, header, claims) = try request(call) {
      $0.issuer = "robot@project.example"
      $0.audience = "https://id.example.com/token"
      $0.keyID = "key-1"
      $0.scopeInAssertion = true
    }
    #expect(header["kid"] == "key-1")
    #expect(claims["iss"] == "robot@project.example")
    #expect(claims["aud"] == "https://id.example.com/token")
    #expect(claims["scope"] == "a b" && form["scope"] == nil)
  }

  @Test("a credential that is no usable key gives an error without any part of it")
  func badKey() throws {
    let call = OIDCCall.jwtBearer(.init(subject: "ada", scope: ""), metadata())
    let error = #expect(throws: UsherError.self) {
      try call.rendered(at: try Self.robot(), credentials: ["robot-key": Secret("k3y-secret")])
    }
    #expect(error?.message.contains("robot-key") == true)
    #expect(error?.message.contains("k3y") == false)
  }

  @Test("the flow ends with an account of the assertion's subject, without a refresh token")
  func granted() throws {
    var driven = try Driven(.init(subject: "ada", scope: " a  b "))
    driven.toRequest()
    #expect(driven.calls == [.jwtBearer(.init(subject: "ada", scope: "a b"), metadata())])
    driven.answer(.reply(tokenReply(["refresh_expires_in": 60])))
    let grant = try #require(OIDCJWTBearerGrant.completion(in: driven.last)?.grant)
    #expect(grant.subject == "ada" && grant.isOfClient && grant.isByAssertion)
    #expect(grant.attributes == ["grant": "jwt_bearer"])
    #expect(grant.tokens?.accessToken.unsealed() == Secret("access-secret"))
    #expect(grant.tokens?.refreshToken == nil && grant.tokens?.refreshExpiresAt == nil)
    #expect(grant.tokens?.idToken == nil && grant.idToken == nil)
    #expect(grant.signInOptions?.kind == "jwtBearer")
  }

  @Test("without a subject the tokens are for the service account itself")
  func itself() throws {
    var driven = try Driven()
    driven.toRequest()
    #expect(driven.calls == [.jwtBearer(.init(subject: "usher", scope: ""), metadata())])
    driven = try Driven { $0.issuer = "robot" }
    driven.toRequest()
    #expect(driven.calls == [.jwtBearer(.init(subject: "robot", scope: ""), metadata())])
  }

  @Test("the flow is refused without a key, and for a subject that is not configured")
  func notPermitted() throws {
    let keyless = #expect(throws: UsherError.self) {
      try Driven {
        $0.keyCredential = nil
        $0.subjects = []
      }
    }
    #expect(keyless?.reason == .permissionDenied)
    #expect(keyless?.message.contains("jwt_bearer") == true)
    let other = #expect(throws: UsherError.self) { try Driven(.init(subject: "bob")) }
    #expect(other?.reason == .permissionDenied && other?.detail.field == "params.subject")
  }

  @Test("tokens are renewed only for a subject that is still configured")
  func renewal() throws {
    let dialect = OIDCTokens(
      provider: try #require(Provider<OIDCSettings>(try Self.robot())), metadata: metadata())
    #expect(dialect.assertionToken(subject: "ada", scope: "a", audience: nil) != nil)
    #expect(dialect.assertionToken(subject: "usher", scope: "a", audience: nil) != nil)
    #expect(dialect.assertionToken(subject: "bob", scope: "a", audience: nil) == nil)
  }

  @Test("a refused assertion ends the flow with the provider's error code")
  func refused() throws {
    var driven = try Driven()
    driven.toRequest()
    driven.answer(.reply(reply(["error": "invalid_grant"], status: 400)))
    guard case .fail(let failure, _) = driven.last else {
      Issue.record("the flow has not failed: \(driven.last)")
      return
    }
    #expect(failure.provider?.code == "invalid_grant")
  }

  @Test("every state of the flow fulfils the flow contract")
  func contract() throws {
    var driven = try Driven(.init(subject: "ada"))
    let foreign: [FlowEvent<OIDCCall>] = [
      .listening(redirectURI: "http://127.0.0.1:1/callback"), .input(.denied),
      .idTokenVerified(.refused(message: "bad")),
    ]
    var flows = [
      DrivenFlow("discovering", driven.flow, unrelatedEvents: foreign + [.woken])
    ]
    driven.toRequest()
    flows.append(
      DrivenFlow(
        "requesting", driven.flow,
        unrelatedEvents: foreign + [.woken, .discovered(.found(metadata()))]))
    driven.answer(.unreachable(message: "gone", sent: true))
    flows.append(DrivenFlow("paused", driven.flow, unrelatedEvents: foreign))
    #expect(checkProviderContract(flows, secrets: ["access-secret"], at: moment()) == [])
    try checkStoredForms(flows)
  }
}
