import JSONRPC
import Testing
import UsherConfig
import UsherCore

@testable import UsherFlows

/// What well-known services answer otherwise than the RFCs say.
@Suite("Replies of well-known services")
struct ServiceReplyTests {
  private func dialect(
    _ change: (inout OIDCSettings) -> Void = { _ in }
  ) throws -> OIDCTokens {
    let provider = try #require(Provider<OIDCSettings>(provider(change)))
    return OIDCTokens(provider: provider, metadata: metadata())
  }

  @Test("the error of a preset that ends a grant does so at an OpenID provider, and at no other")
  func grantEnded() throws {
    // Forgejo answers a used or expired refresh token so.
    let refusal = reply(
      ["error": "unauthorized_client", "error_description": "token was already used"], status: 400)
    let request = TokenRequest(provider: name, scope: "openid")
    let forgejo = try dialect { $0.grantEndedErrors = ["unauthorized_client"] }
    guard case .dead(let code) = forgejo.read(refusal, to: request, at: now) else {
      Issue.record("the grant is not ended")
      return
    }
    #expect(code.code == "unauthorized_client")
    guard case .misconfigured = try dialect().read(refusal, to: request, at: now) else {
      Issue.record("the client is not refused")
      return
    }
  }

  @Test(
    "a revocation that Google refuses because the token is not valid any more counts as done",
    arguments: [
      ("invalid_token", 400, true), ("invalid_token", 401, false), ("invalid_request", 400, false),
      ("unsupported_token_type", 400, false),
    ])
  func revokedBefore(error: String, status: Int, isRevoked: Bool) throws {
    let refusal = reply(["error": .string(error)], status: status)
    #expect(try dialect().hasRevoked(refusal) == isRevoked)
  }

  @Test("metadata whose issuer is a template for directories says which issuer to configure")
  func template() throws {
    let document: JSONValue = [
      "issuer": "https://login.example.com/{tenantid}/v2.0",
      "token_endpoint": "https://login.example.com/common/oauth2/v2.0/token",
    ]
    let issuer = try ProviderURL(setting: "https://login.example.com/common/v2.0")
    let settings = try settings { $0.issuer = issuer }
    guard case .unusable(let message) = OIDCMetadata.read(documents: [document], settings: settings)
    else {
      Issue.record("the metadata is accepted")
      return
    }
    #expect(message.contains("many directories (tenants)"), "\(message)")
    #expect(message.contains("https://login.example.com/TENANT-ID/v2.0"), "\(message)")
  }
}
