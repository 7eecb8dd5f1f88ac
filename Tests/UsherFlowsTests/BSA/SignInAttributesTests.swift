import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

@Suite("What a sign-in says of its account")
struct SignInAttributesTests {
  @Test("a sign-in writes no attribute: those of its beginning may be old by now")
  func attributes() throws {
    for way in BSAAuthenticate.Way.allCases {
      var driven = try DrivenSignIn.fetching(way)
      driven.said("token-secret")
      let grant = try #require(driven.completion?.grant)
      #expect(grant.attributes.isEmpty, "\(way): \(grant.attributes)")
      #expect(grant.tokens != nil)
    }
  }
}
