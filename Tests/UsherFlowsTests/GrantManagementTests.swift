import JSONRPC
import Testing
import UsherConfig
import UsherCore

@testable import UsherFlows

@Suite("Names of grants in requests and replies")
struct GrantManagementTests {
  private func grantID(_ name: JSONValue) throws -> String? {
    let config = try provider { $0.grantManagement = true }
    let request = TokenRequest(try #require(Provider<OIDCSettings>(config)), scope: "openid")
    let answer = TokenReply(tokenReply(["grant_id": name]), to: request, at: moment().now)
    guard case .granted(let tokens) = answer else { return nil }
    return tokens.grantID?.unsealed().revealed()
  }

  @Test("the name of a grant is read if it can be one segment of a URL's path")
  func names() throws {
    let longest = String(repeating: "g", count: 1024)
    for name in ["grt-1", "a/b?c#d", "...", longest] {
      #expect(try grantID(.string(name)) == name)
    }
    for name in ["", ".", "..", "a b", "a\n", "ä", longest + "g"] {
      #expect(try grantID(.string(name)) == nil, "\(name)")
    }
    #expect(try grantID(1) == nil)
  }

  @Test("a reply that has no token for the client never stands for the deletion of a grant")
  func refusedToken() {
    let call = GrantManagementToken(metadata: metadata(), dpopKey: nil)
    for (error, status) in [("invalid_scope", 200), ("invalid_token", 400), ("invalid_token", 200)]
    {
      let answer = call.read(reply(["error": .string(error)], status: status))
      guard case .unreadable = answer else {
        Issue.record("\(error) with status \(status) is \(answer)")
        continue
      }
    }
    #expect(call.read(reply(["error": "unauthorized_client"], status: 400)) == .refused)
    #expect(call.read(reply(["error": "server_error"], status: 500)) == .refused)
  }

  @Test("the name of a grant is masked in what the provider answers to its deletion")
  func masked() throws {
    let call = GrantDeletion(
      grantID: Secret("grt-canary/1"),
      metadata: metadata { $0.grantManagementEndpoint = "https://id.example/grants" })
    let request = try call.rendered(at: try provider(), clientToken: Secret("token"))
    #expect(request.url == "https://id.example/grants/grt-canary%2F1")
    let answer = reply(["error_description": "no grant grt-canary/1"], status: 404)
    #expect(
      !String(decoding: answer.withoutEchoes(of: request).body, as: UTF8.self).contains("canary"))
  }
}
