import Foundation
import JSONRPC
import Synchronization
import Testing
import UsherKit
import UsherTestKit

/// The documentation's program by the SDK's three calls, end to end: UsherKit, the real daemon and
/// Freedom ID's stand-in.
///
/// What the seed leaves open is listed in the header of `FreedomIDSeedExample.swift`. The calls are
/// about what was created last, of which there is one: these tests take turns.
@Suite(
  "Freedom ID's example of the seed, end to end", .uses(.freedomID), .mayBlock, .serialized,
  .timeLimit(.minutes(10)))
struct FreedomSeedTests {
  /// A person at the documentation's terminal.
  private final class Person: Sendable {
    private let scene: FreedomScene
    private let permits: Bool
    private let seen = Mutex<[String]>([])

    init(_ scene: FreedomScene, permits: Bool = true) {
      self.scene = scene
      self.permits = permits
    }

    /// What was asked, in its order.
    var questions: [String] { seen.withLock { $0 } }

    func answer(_ question: String) -> String? {
      seen.withLock { $0.append(question) }
      return switch question {
      // Of the ways the first is phone and code; of the accounts there is one.
      case "number": "1"
      case "phone": FreedomGuest.alice.phone
      case let text where text.hasPrefix("code sent to"): try? scene.code()
      case let text where text.hasSuffix("passcode"): FreedomScene.passcode
      case let text where text.hasSuffix("yes or no"): permits ? "yes" : "no"
      default: nil
      }
    }

    var presenter: TerminalPresenter {
      TerminalPresenter(ask: { self.answer($0) }, askHidden: { self.answer($0) })
    }
  }

  private let scene: FreedomScene
  private let lines: AsyncStream<String>
  private let feed: AsyncStream<String>.Continuation

  init() throws {
    scene = try FreedomScene()
    (lines, feed) = AsyncStream.makeStream()
  }

  private func example(
    _ presenter: TerminalPresenter, apiKey: String = FreedomScene.apiKey
  ) -> FreedomIDSeedExample {
    FreedomIDSeedExample(
      apiKey: apiKey, socketPath: scene.daemon.socketPath, presenter: presenter
    ) { [feed] in feed.yield($0) }
  }

  @Test("create, authorize and clear: the person is asked once, then known, then forgotten")
  func threeCalls() async throws {
    let person = Person(scene)
    let presenter = person.presenter
    let example = example(presenter)
    var shown = lines.makeAsyncIterator()
    example.authorize()
    #expect(await shown.next() == "Alice, +447700900123")
    let asked = person.questions
    try #require(asked.prefix(2) == ["number", "phone"] && asked.count == 6, "\(asked)")
    #expect(asked[2] == "code sent to +4 ••• 23, or nothing for another one")
    #expect(asked[4].hasSuffix("+4 ••• 23: passcode"), "\(asked)")
    #expect(asked[5].contains("asks for") && asked[5].hasSuffix("yes or no"))
    // Nothing is new: the account is chosen, and the person proves to be there.
    example.authorize()
    #expect(await shown.next() == "Alice, +447700900123")
    #expect(person.questions.dropFirst(6).count == 2)
    #expect(try scene.requests("otp") == 1)
    example.clear()
    #expect(await shown.next() == "cleared")
    #expect(try scene.accounts().isEmpty && scene.consents().isEmpty)
    try eventually("the account is untied") {
      try scene.list("tokens").allSatisfy { $0["state"] != "live" }
    }
    example.authorize()
    #expect(await shown.next() == "Alice, +447700900123")
    #expect(try scene.requests("otp") == 2)
    withExtendedLifetime(presenter) {}
  }

  @Test("who says no twice has granted nothing")
  func denied() async throws {
    let person = Person(scene, permits: false)
    let presenter = person.presenter
    var shown = lines.makeAsyncIterator()
    example(presenter).authorize()
    #expect(await shown.next() == "nothing was granted")
    #expect(person.questions.filter { $0.hasSuffix("yes or no") }.count == 2)
    #expect(try scene.requests("consent") == 0)
    withExtendedLifetime(presenter) {}
  }

  @Test("another API key: the SDK's word, and nobody was asked")
  func otherKey() async throws {
    let person = Person(scene)
    let presenter = person.presenter
    var shown = lines.makeAsyncIterator()
    example(presenter, apiKey: "another").authorize()
    #expect(await shown.next() == "it cannot be done: incorrectApiKey")
    #expect(person.questions.isEmpty)
    #expect(try scene.requests("accounts") == 0)
    withExtendedLifetime(presenter) {}
  }

  @Test("the async form, with each grant by its case: a profile with all of them")
  func asynchronous() async throws {
    let person = Person(scene)
    FreedomID.create(apiKey: FreedomScene.apiKey, socketPath: scene.daemon.socketPath)
    let profile = try await FreedomID.authorize(
      presenter: person.presenter, grants: DataGrants.allCases)
    #expect(profile.dateOfBirth == "1990-12-31" && profile.firstname == "Alice")
    #expect(profile.lastname == "Adams" && profile.patronymic == "Arthurovna")
    #expect(profile.country == "GBR" && profile.nationality == "GBR" && profile.gender == "F")
    #expect(profile.identifier == "901231400456" && profile.email == "alice@example.com")
    #expect(profile.phones == ["+447700900123", "+447700900124"])
    #expect(profile.emails == ["alice@example.com", "alice.adams@example.com"])
    let error = await #expect(throws: FreedomIDError.self) {
      try await FreedomID.authorize(presenter: person.presenter, grants: [])
    }
    #expect(error == .dataGrantsCanNotBeEmpty)
    let gone = try await FreedomID.clear()
    #expect(gone.forgotten == 1 && gone.kept == 0)
  }

  @Test("a daemon that is killed while the profile is read is waited for")
  func restarted() async throws {
    let person = Person(scene)
    let presenter = person.presenter
    var shown = lines.makeAsyncIterator()
    try scene.spoil("consent", ["delayMs": 60_000], times: 1)
    example(presenter).authorize()
    // The calls need the threads that tests share.
    try await unblocking { [scene] in
      try eventually("the profile is asked for") {
        try scene.requests("consent") == 1
      }
      try scene.daemon.restart()
    }
    #expect(await shown.next() == "Alice, +447700900123")
    withExtendedLifetime(presenter) {}
  }
}
