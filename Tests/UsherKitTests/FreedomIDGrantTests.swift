import JSONRPC
import Testing

@testable import UsherKit

@Suite("Grants that a Freedom ID app needs", .timeLimit(.minutes(10)))
struct FreedomIDGrantTests {
  private static let all: JSONValue = [
    "type": "consent", "granted": ["read.firstname", "read.phone", "read.emails"],
  ]

  /// Returns a presenter that grants the first `counts.first` permissions, then as many as the next
  /// count says.
  private func viewer(granting counts: [Int]) -> FreedomIDViewer {
    let (stream, feed) = AsyncStream.makeStream(of: Int.self)
    for count in counts { feed.yield(count) }
    return FreedomIDViewer { screen in
      guard case .permissions(let screen) = screen else { return screen.goingOn }
      for await count in stream { return screen.grant(Array(screen.permissions.prefix(count))) }
      return .cancel
    }
  }

  @Test("a Freedom ID permission screen is shown again if the person leaves out what is needed")
  func leftOut() async throws {
    let daemon = FreedomIDDaemon(.permissions, inputs: [.advances([.authorized])])
    let viewer = viewer(granting: [2, 3])
    #expect(try await daemon.authorize(viewer).firstname == "Aigerim")
    #expect(viewer.shown.map(\.problem) == [nil, "denied"])
    #expect(daemon.inputs == [Self.all])
  }

  @Test("leaving out needed Freedom ID permissions twice counts as a denial")
  func leftOutTwice() async throws {
    let daemon = FreedomIDDaemon(
      .permissions, inputs: [.advances([.failed("denied", "accessDenied")])])
    #expect(try await daemon.authorize(viewer(granting: [1, 2])).error == .accessDenied)
    #expect(daemon.inputs == [["type": "consent", "denied": true]])
  }

  @Test("a remembered Freedom ID permission need not be granted again")
  func remembered() async throws {
    let daemon = FreedomIDDaemon(.permissions, inputs: [.advances([.authorized])])
    let viewer = FreedomIDViewer { screen in
      guard case .permissions(let screen) = screen else { return screen.goingOn }
      return screen.grant(screen.permissions.filter { !$0.isRemembered })
    }
    #expect(try await daemon.authorize(viewer).firstname == "Aigerim")
  }

  @Test("a Freedom ID profile without a requested grant ends with accessDenied")
  func provider() async throws {
    let daemon = FreedomIDDaemon(.permissions, inputs: [.advances([.authorized])])
    let viewer = FreedomIDViewer.willing()
    let outcome = try await daemon.authorize(viewer, grants: [.readPhone, .readEmails])
    #expect(outcome.error == .accessDenied)
    #expect(viewer.ends == [.failed(message: "all of the permissions are needed to continue")])
  }
}
