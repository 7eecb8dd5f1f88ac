import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

@Suite("Audiences of OIDC sign-ins and refreshes")
struct AudienceTests {
  private static let mail = "https://mail.example.com"
  private static let files = "https://files.example.com/v1?x=1"

  private func resources(_ settings: inout OIDCSettings) {
    settings.audienceParameter = .resource
    settings.audiences = [Self.mail]
  }

  /// Returns the values of a parameter in a URL's query or in a form.
  private func values(_ name: String, in text: String?) -> [String] {
    let form = text?.split(separator: "?", maxSplits: 1).last ?? ""
    return (FormEncoding.decode(form) ?? []).filter { $0.name == name }.map(\.value)
  }

  @Test("the authorization request repeats the parameter resource for each audience")
  func authorize() throws {
    var driven = try DrivenAuthorize(
      .init(audiences: [Self.mail, Self.files]), settings: resources)
    driven.toBrowser()
    #expect(values("resource", in: driven.step?.url) == [Self.mail, Self.files])
    #expect(values("audience", in: driven.step?.url) == [])
  }

  @Test("without audiences of the caller the authorization request names the configured ones")
  func configured() throws {
    var driven = try DrivenAuthorize(settings: resources)
    driven.toBrowser()
    #expect(values("resource", in: driven.step?.url) == [Self.mail])
  }

  @Test("the configured audience and those of the caller are one parameter if it has that name")
  func oneParameter() throws {
    var driven = try DrivenAuthorize(.init(audiences: ["files", "mail"])) {
      $0.audienceParameter = .audience
      $0.audience = "mail"
    }
    driven.toBrowser()
    #expect(values("audience", in: driven.step?.url) == ["mail files"])
  }

  @Test(
    "audiences that a sign-in cannot name are refused with the parameter audiences",
    arguments: [
      (.resource, ["x"]), (.resource, ["https://a.example#b"]), (.audience, [""]),
      (.audience, ["a b"]), (nil, ["https://a.example"]), (nil, []),
      (.audience, (1...17).map { "a\($0)" }),
    ] as [(OIDCAudienceParameter?, [String])])
  func refused(parameter: OIDCAudienceParameter?, audiences: [String]) throws {
    let error = #expect(throws: UsherError.self) {
      try DrivenAuthorize(.init(audiences: audiences)) { $0.audienceParameter = parameter }
    }
    #expect(error?.detail.field == "params.audiences")
    #expect(error?.reason == .invalidParams)
  }

  @Test("a refresh names one audience, and none for the token without one")
  func refresh() throws {
    let provider = try provider(resources)
    let dialect = OIDCTokens(
      provider: try #require(Provider<OIDCSettings>(provider)), metadata: metadata())
    let call = try #require(
      dialect.renewal(Secret("r"), scope: "openid", audience: Self.files))
    let body = try call.rendered(at: provider, credential: nil).body?.revealed()
    #expect(values("resource", in: body) == [Self.files])
    #expect(values("scope", in: body) == ["openid"])
    let plain = try #require(dialect.renewal(Secret("r"), scope: nil))
    #expect(
      values("resource", in: try plain.rendered(at: provider, credential: nil).body?.revealed())
        == [])
  }

  @Test("at a provider without audience_parameter no token for an audience is requested")
  func unsupported() throws {
    let provider = try provider()
    let dialect = OIDCTokens(
      provider: try #require(Provider<OIDCSettings>(provider)), metadata: metadata())
    #expect(dialect.renewal(Secret("r"), scope: nil, audience: Self.mail) == nil)
  }

  @Test("a pushed authorization request repeats the parameter resource")
  func pushed() throws {
    let provider = try provider(resources)
    let call = OIDCCall.pushAuthorization(
      ["resource": "\(Self.mail) \(Self.files)", "scope": "openid"],
      metadata { $0.pushedAuthorizationRequestEndpoint = issuer + "/par" })
    let body = try call.rendered(at: provider, credential: nil).body?.revealed()
    #expect(values("resource", in: body) == [Self.mail, Self.files])
    #expect(values("scope", in: body) == ["openid"])
  }
}
