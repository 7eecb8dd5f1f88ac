import Foundation
import Testing
import UsherKit
import UsherTestKit

/// The SDK's `authorize` against the APIs that the vendor documents, with the real daemon and the
/// sandbox's Freedom ID. The tests are serialized because the process has one SDK configuration.
@Suite(
  "Freedom ID's SDK in the browser modes, end to end", .uses(.freedomID), .mayBlock, .serialized,
  .timeLimit(.minutes(10)))
struct FreedomBrowserSeedTests {
  /// Signs in at each page and agrees or declines.
  private final class Person: FreedomIDPresenter {
    private let fixture: FreedomFixture
    private let decision: FreedomFixture.Decision

    init(_ fixture: FreedomFixture, _ decision: FreedomFixture.Decision = .allow) {
      self.fixture = fixture
      self.decision = decision
    }

    func answer(_ screen: FreedomIDScreen, problem: FreedomIDProblem?) async -> FreedomIDAnswer {
      .stay
    }

    func answer(_ page: FreedomIDPage, problem: FreedomIDProblem?) async -> FreedomIDAnswer {
      let url = page.url.absoluteString
      let back = try? await unblocking { [fixture, decision] in
        try fixture.decide(at: url, "alice", decision)
      }
      return back.flatMap { URL(string: $0) }.map { page.returned(to: $0) } ?? .cancel
    }
  }

  private func authorize(
    _ fixture: FreedomFixture, _ decision: FreedomFixture.Decision = .allow
  ) async -> Result<GrantedProfile, FreedomIDError> {
    FreedomID.create(apiKey: FreedomFixture.apiKey, socketPath: fixture.daemon.socketPath)
    do throws(FreedomIDError) {
      return .success(
        try await FreedomID.authorize(
          presenter: Person(fixture, decision), grants: [.readFirstname, .readEmail]))
    } catch {
      return .failure(error)
    }
  }

  @Test("authorize of Freedom ID's SDK returns the granted profile in mode oauth2")
  func partner() async throws {
    let fixture = try FreedomFixture.partner()
    let profile = try await authorize(fixture).get()
    #expect(profile.firstname == "Alice" && profile.email == "alice@example.com")
    #expect(profile.granted == [.readFirstname, .readEmail] && profile.phone == nil)
    #expect(await authorize(fixture, .deny) == .failure(.accessDenied))
  }

  @Test("authorize of Freedom ID's SDK returns the claims of the requested grants in mode oidc")
  func openID() async throws {
    let fixture = try FreedomFixture.openID("scopes = [\"openid\", \"profile\", \"email\"]")
    let profile = try await authorize(fixture).get()
    #expect(profile.firstname == "Alice" && profile.email == "alice@example.com")
    #expect(profile.granted == [.readFirstname, .readEmail] && profile.lastname == nil)
    #expect(await authorize(fixture, .deny) == .failure(.accessDenied))
  }
}
