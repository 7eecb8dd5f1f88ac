import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

@Suite("Token exchange at an OpenID provider")
struct TokenExchangeTests {
  private func dialect(
    _ change: (inout OIDCSettings) -> Void = { _ in }
  ) throws -> (OIDCTokens, ProviderConfig) {
    let provider = try provider {
      $0.audienceParameter = .audience
      $0.tokenExchange = true
      change(&$0)
    }
    return (
      OIDCTokens(
        provider: try #require(Provider<OIDCSettings>(provider)), metadata: metadata()), provider
    )
  }

  @Test(
    "the request names the access token, both token types, the audience and the scope",
    arguments: [(nil, ""), ("a b", "a b")] as [(String?, String)])
  func request(scope: String?, sent: String) throws {
    let (dialect, provider) = try dialect()
    let call = try #require(
      dialect.exchange(Secret("access-secret"), scope: scope, audience: "mail"))
    let request = try call.rendered(at: provider, credential: nil)
    #expect(request.url == issuer + "/token")
    let form = FormEncoding.decode(request.body?.revealed() ?? "") ?? []
    let fields = Dictionary(form.map { ($0.name, $0.value) }) { first, _ in first }
    let type = "urn:ietf:params:oauth:token-type:access_token"
    #expect(fields["grant_type"] == "urn:ietf:params:oauth:grant-type:token-exchange")
    #expect(fields["subject_token"] == "access-secret")
    #expect(fields["subject_token_type"] == type && fields["requested_token_type"] == type)
    #expect(fields["audience"] == "mail" && fields["client_id"] == "usher")
    #expect(fields["scope"] ?? "" == sent)
    let echo = reply(
      ["error": "invalid_request", "error_description": "access-secret"], status: 400)
    #expect(
      echo.withoutEchoes(of: request).jsonObject?["error_description"] == .string(HTTPReply.echo))
  }

  @Test(
    "a provider with token exchange gets no refresh for an audience, and one without no exchange")
  func either() throws {
    let (exchanging, _) = try dialect()
    #expect(exchanging.renewal(Secret("r"), scope: nil, audience: "mail") == nil)
    let (refreshing, _) = try dialect { $0.tokenExchange = false }
    #expect(refreshing.exchange(Secret("a"), scope: nil, audience: "mail") == nil)
  }

  @Test(
    "only a reply with the issued_token_type of an access token is accepted",
    arguments: [
      (nil, false), ("urn:ietf:params:oauth:token-type:access_token", true),
      ("urn:ietf:params:oauth:token-type:jwt", false), ("access_token", false),
    ] as [(String?, Bool)])
  func issuedTokenType(type: String?, isAccepted: Bool) throws {
    let (dialect, _) = try dialect()
    var request = TokenRequest(provider: name, scope: "a")
    request.issuedTokenType = TokenRequest.accessTokenType
    let members: [String: JSONValue] = type.map { ["issued_token_type": .string($0)] } ?? [:]
    let answer = dialect.read(tokenReply(members), to: request, at: now)
    switch answer {
    case .granted: #expect(isAccepted)
    case .unreadable(let message):
      #expect(!isAccepted && message.contains("issued_token_type"))
    default: Issue.record("unexpected answer: \(answer)")
    }
  }
}
