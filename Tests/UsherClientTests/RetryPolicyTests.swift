import Testing
import UsherClient
import UsherCore

@testable import struct UsherClient.CallNotSent
@testable import struct UsherClient.RetryPauses
@testable import struct UsherClient.RetryPolicy

@Suite("Repetition of failed calls")
struct RetryPolicyTests {
  private func failure(_ kind: ConnectionError.Kind) -> ConnectionError {
    ConnectionError(kind, socketPath: "/s")
  }

  private func pause(
    after error: any Error, isSafe: Bool = false, knowsDaemon: Bool = true
  ) -> Duration? {
    var policy = RetryPolicy(isSafe: isSafe, patience: .seconds(1))
    return policy.pause(after: error, knowsDaemon: knowsDaemon)
  }

  @Test("the client repeats a call that the daemon did not read at once")
  func notSent() { #expect(pause(after: CallNotSent()) == .zero) }

  @Test("a client waits for a daemon that it knows or that is busy, and for no other")
  func away() {
    for kind in [ConnectionError.Kind.noSocket, .refused] {
      #expect(pause(after: failure(kind)) == .zero)
      #expect(pause(after: failure(kind), isSafe: true, knowsDaemon: false) == nil)
    }
    #expect(pause(after: failure(.busy), knowsDaemon: false) == .zero)
  }

  @Test("after a lost connection or a shutdown the client repeats only a safe call")
  func safe() {
    for error: any Error in [failure(.lost), UsherError(.shuttingDown, "stopping")] {
      #expect(pause(after: error, isSafe: true) == .zero)
      #expect(pause(after: error) == nil)
    }
  }

  @Test("the client does not repeat a call again that was interrupted twice")
  func deadly() {
    let cuts: [any Error] = [failure(.lost), UsherError(.shuttingDown, "stopping")]
    for (first, second) in [(cuts[0], cuts[0]), (cuts[0], cuts[1]), (cuts[1], cuts[1])] {
      var policy = RetryPolicy(isSafe: true, patience: .seconds(1))
      #expect(policy.pause(after: first, knowsDaemon: true) == .zero)
      #expect(policy.pause(after: failure(.noSocket), knowsDaemon: true) != nil)
      #expect(policy.pause(after: second, knowsDaemon: true) == nil)
    }
  }

  @Test("the client does not repeat a call that got a permanent error")
  func hopeless() {
    let kinds: [ConnectionError.Kind] = [
      .notPermitted, .badPath, .closed, .garbled, .replyTooLarge, .incompatible, .other,
    ]
    for kind in kinds { #expect(pause(after: failure(kind), isSafe: true) == nil) }
    #expect(pause(after: UsherError(.notFound, "no"), isSafe: true) == nil)
    #expect(pause(after: CancellationError(), isSafe: true) == nil)
  }

  @Test("the client repeats a call until its patience is used up")
  func patience() {
    var policy = RetryPolicy(isSafe: false, patience: .milliseconds(100))
    var pauses: [Duration] = []
    while let pause = policy.pause(after: CallNotSent(), knowsDaemon: true) {
      pauses.append(pause)
    }
    #expect(pauses == [0, 50, 50].map { .milliseconds($0) })
  }

  @Test("the client's pauses between connection attempts grow up to one second")
  func growing() {
    var retryPauses = RetryPauses(patience: .seconds(4))
    var pauses: [Duration] = []
    while let pause = retryPauses.pause() { pauses.append(pause) }
    #expect(pauses == [50, 100, 200, 400, 800, 1000, 1000, 450].map { .milliseconds($0) })
  }
}
