import Testing
import UsherClient
import UsherCore

@testable import struct UsherClient.Absence
@testable import struct UsherClient.Persistence
@testable import struct UsherClient.Unheard

@Suite("Repetition of failed calls")
struct PersistenceTests {
  private func failure(_ kind: ConnectionError.Kind) -> ConnectionError {
    ConnectionError(kind, socketPath: "/s")
  }

  private func pause(
    after error: any Error, isSafe: Bool = false, knowsDaemon: Bool = true
  ) -> Duration? {
    var persistence = Persistence(isSafe: isSafe, patience: .seconds(1))
    return persistence.pause(after: error, knowsDaemon: knowsDaemon)
  }

  @Test("a call that the daemon did not read is repeated at once")
  func unheard() { #expect(pause(after: Unheard()) == .zero) }

  @Test("a client waits for a daemon that it knows or that is busy, and for no other")
  func away() {
    for kind in [ConnectionError.Kind.noSocket, .refused] {
      #expect(pause(after: failure(kind)) == .zero)
      #expect(pause(after: failure(kind), isSafe: true, knowsDaemon: false) == nil)
    }
    #expect(pause(after: failure(.busy), knowsDaemon: false) == .zero)
  }

  @Test("after a lost connection or a shutdown only a safe call is repeated")
  func safe() {
    for error: any Error in [failure(.lost), UsherError(.shuttingDown, "stopping")] {
      #expect(pause(after: error, isSafe: true) == .zero)
      #expect(pause(after: error) == nil)
    }
  }

  @Test("a call that is interrupted twice is not repeated again")
  func deadly() {
    let cuts: [any Error] = [failure(.lost), UsherError(.shuttingDown, "stopping")]
    for (first, second) in [(cuts[0], cuts[0]), (cuts[0], cuts[1]), (cuts[1], cuts[1])] {
      var persistence = Persistence(isSafe: true, patience: .seconds(1))
      #expect(persistence.pause(after: first, knowsDaemon: true) == .zero)
      #expect(persistence.pause(after: failure(.noSocket), knowsDaemon: true) != nil)
      #expect(persistence.pause(after: second, knowsDaemon: true) == nil)
    }
  }

  @Test("a call with a permanent error is not repeated")
  func hopeless() {
    let kinds: [ConnectionError.Kind] = [
      .notPermitted, .badPath, .closed, .garbled, .replyTooLarge, .incompatible, .other,
    ]
    for kind in kinds { #expect(pause(after: failure(kind), isSafe: true) == nil) }
    #expect(pause(after: UsherError(.notFound, "no"), isSafe: true) == nil)
    #expect(pause(after: CancellationError(), isSafe: true) == nil)
  }

  @Test("a call is repeated until the client's patience is used up")
  func patience() {
    var persistence = Persistence(isSafe: false, patience: .milliseconds(100))
    var pauses: [Duration] = []
    while let pause = persistence.pause(after: Unheard(), knowsDaemon: true) {
      pauses.append(pause)
    }
    #expect(pauses == [0, 50, 50].map { .milliseconds($0) })
  }

  @Test("the pauses between connection attempts grow up to one second")
  func growing() {
    var absence = Absence(patience: .seconds(4))
    var pauses: [Duration] = []
    while let pause = absence.pause() { pauses.append(pause) }
    #expect(pauses == [50, 100, 200, 400, 800, 1000, 1000, 450].map { .milliseconds($0) })
  }
}
