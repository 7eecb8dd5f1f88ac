import Foundation
import JSONRPC
import Synchronization
import Testing
import UsherKit
import UsherTestKit

/// The SDK's three calls against UsherKit, the real daemon and the sandbox's Freedom ID.
///
/// `UsherKitTests` compiles and tests the documentation's programs that make these calls. The tests
/// are serialized because the process has one SDK configuration: the one that was created last.
@Suite(
  "Freedom ID's SDK, end to end", .uses(.freedomID), .mayBlock, .serialized,
  .timeLimit(.minutes(10)))
struct FreedomSeedTests {
  /// Signs in by phone and code, and grants all or denies.
  private final class Person: FreedomIDPresenter {
    private let fixture: FreedomFixture
    private let permits: Bool
    private let seen = Mutex<[String]>([])

    init(_ fixture: FreedomFixture, permits: Bool = true) {
      self.fixture = fixture
      self.permits = permits
    }

    /// The names of the answered screens, in order.
    var answered: [String] { seen.withLock { $0 } }

    func answer(_ screen: FreedomIDScreen, problem: FreedomIDProblem?) async -> FreedomIDAnswer {
      let name = Mirror(reflecting: screen).children.first?.label ?? ""
      if name != "waiting" { seen.withLock { $0.append(name) } }
      return switch screen {
      case .waiting: .stay
      case .loginMethod(let screen): screen.choose(screen.methods[0])
      case .form(let screen): screen.fill(["phone": FreedomGuest.alice.phone])
      case .code(let screen): (try? fixture.code()).map { screen.enter($0) } ?? .cancel
      case .home(let screen): screen.choose(screen.accounts[0])
      case .passcode(let screen): screen.enter(FreedomFixture.passcode)
      case .permissions(let screen): permits ? screen.grantAll() : screen.deny()
      case .password, .fingerprint: .cancel
      }
    }

    func finished(_ end: FreedomIDEnd) async {}
  }

  private let fixture: FreedomFixture

  init() throws {
    fixture = try FreedomFixture()
    create()
  }

  private func create(apiKey: String = FreedomFixture.apiKey) {
    FreedomID.create(apiKey: apiKey, socketPath: fixture.daemon.socketPath)
  }

  private func authorize(
    _ person: Person, _ grants: [DataGrants] = [.readFirstname, .readPhone]
  ) async -> Result<GrantedProfile, FreedomIDError> {
    do throws(FreedomIDError) {
      return .success(try await FreedomID.authorize(presenter: person, grants: grants))
    } catch {
      return .failure(error)
    }
  }

  /// Clears the SDK as a program does that has no `async` function.
  private func clear() { FreedomID.clear() }

  @Test("authorize of Freedom ID's SDK asks for a log-in once, and again only after signOut")
  func threeCalls() async throws {
    let person = Person(fixture)
    let first = try await authorize(person).get()
    #expect(first.firstname == "Alice" && first.phone == "+447700900123")
    let asked = ["loginMethod", "form", "code", "home", "passcode", "permissions"]
    #expect(person.answered == asked)
    // The grants are known: only the account and the passcode are asked for.
    #expect(try await authorize(person).get().firstname == "Alice")
    #expect(person.answered == asked + ["home", "passcode"])
    #expect(try fixture.requests("otp") == 1)
    clear()
    #expect(try await authorize(person, [.readFirstname]).get().firstname == "Alice")
    #expect(try fixture.requests("otp") == 1)
    let gone = try await FreedomID.signOut()
    #expect(gone.forgotten == 1 && gone.kept == 0)
    #expect(try fixture.accounts().isEmpty && fixture.consents().isEmpty)
    // All cases of `DataGrants`.
    let profile = try await authorize(person, DataGrants.allCases).get()
    #expect(try fixture.requests("otp") == 2)
    #expect(profile.dateOfBirth == "1990-12-31" && profile.firstname == "Alice")
    #expect(profile.lastname == "Adams" && profile.patronymic == "Arthurovna")
    #expect(profile.country == "GBR" && profile.nationality == "GBR" && profile.gender == "F")
    #expect(profile.identifier == "901231400456" && profile.email == "alice@example.com")
    #expect(profile.phones == ["+447700900123", "+447700900124"])
    #expect(profile.emails == ["alice@example.com", "alice.adams@example.com"])
  }

  @Test(
    "authorize of Freedom ID's SDK throws its own errors for a denial, a wrong key and no grants")
  func errors() async throws {
    let person = Person(fixture, permits: false)
    #expect(await authorize(person, []) == .failure(.dataGrantsCanNotBeEmpty))
    create(apiKey: "another")
    #expect(await authorize(person) == .failure(.incorrectApiKey))
    #expect(try person.answered.isEmpty && fixture.requests("accounts") == 0)
    create()
    #expect(await authorize(person) == .failure(.accessDenied))
    #expect(person.answered.filter { $0 == "permissions" }.count == 2)
    #expect(try fixture.requests("consent") == 0)
  }

  @Test("authorize of Freedom ID's SDK survives a restart of the daemon while the profile is read")
  func restarted() async throws {
    try fixture.spoil("consent", ["delayMs": 60_000], times: 1)
    async let profile = authorize(Person(fixture))
    // Blocking here would occupy a thread that the SDK's asynchronous calls need.
    try await unblocking { [fixture] in
      try eventually("the daemon calls the endpoint consent") {
        try fixture.requests("consent") == 1
      }
      try fixture.daemon.restart()
    }
    #expect(try await profile.get().firstname == "Alice")
  }
}
