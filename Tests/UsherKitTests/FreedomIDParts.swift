import Synchronization
import Testing

@testable import UsherKit

/// A presenter that records screens and answers as the test specifies.
final class FreedomIDViewer: FreedomIDPresenter {
  struct Shown: Sendable, Equatable {
    let screen: FreedomIDScreen
    let problem: String?
  }

  private struct Seen {
    var shown: [Shown] = []
    var ends: [FreedomIDEnd] = []
    var over = 0
  }

  /// Yields each screen when it is shown. For one reader.
  let screens: AsyncStream<Shown>
  private let feed: AsyncStream<Shown>.Continuation
  private let seen = Mutex(Seen())
  private let person: @Sendable (FreedomIDScreen) async -> FreedomIDAnswer

  /// - Parameter person: Returns the answer to a screen.
  init(_ person: @escaping @Sendable (FreedomIDScreen) async -> FreedomIDAnswer) {
    self.person = person
    (screens, feed) = AsyncStream.makeStream()
  }

  deinit { feed.finish() }

  var shown: [Shown] { seen.withLock { $0.shown } }
  var ends: [FreedomIDEnd] { seen.withLock { $0.ends } }
  /// The number of screens that were cancelled before they were answered.
  var over: Int { seen.withLock { $0.over } }

  func answer(_ screen: FreedomIDScreen, problem: FreedomIDProblem?) async -> FreedomIDAnswer {
    let shown = Shown(screen: screen, problem: problem?.reason)
    seen.withLock { $0.shown.append(shown) }
    feed.yield(shown)
    let answer = await person(screen)
    if Task.isCancelled { seen.withLock { $0.over += 1 } }
    return answer
  }

  func finished(_ end: FreedomIDEnd) async { seen.withLock { $0.ends.append(end) } }

  /// Returns a presenter that continues at each screen and grants everything.
  static func willing() -> FreedomIDViewer { FreedomIDViewer(\.goingOn) }

  /// Returns a presenter that leaves each screen open until it is cancelled.
  static func idle() -> FreedomIDViewer {
    FreedomIDViewer { _ in
      await untilCancelled()
      return .cancel
    }
  }
}

/// Returns when the task is cancelled.
func untilCancelled() async {
  let (nothing, end) = AsyncStream.makeStream(of: Never.self)
  await withTaskCancellationHandler {
    for await _ in nothing {}
  } onCancel: {
    end.finish()
  }
}

extension FreedomIDScreen {
  /// The answer that leads to the profile.
  var goingOn: FreedomIDAnswer {
    switch self {
    case .waiting: .stay
    case .loginMethod(let screen): screen.methods.first.map(screen.choose) ?? .cancel
    case .form(let screen): screen.fill(["phone": "+77011234567"])
    case .password(let screen): screen.enter("correct horse")
    case .code(let screen): screen.enter("123456")
    case .home(let screen): screen.accounts.first.map(screen.choose) ?? .cancel
    case .fingerprint(let screen): screen.isScanning ? .stay : screen.scan()
    case .passcode(let screen): screen.enter("2468")
    case .permissions(let screen): screen.grantAll()
    }
  }

  /// The name of the case.
  var caseName: String { Mirror(reflecting: self).children.first?.label ?? "" }
}

/// Returns an SDK that waits at most `patience` for an absent daemon.
func freedomID(_ path: String, patience: Duration = .zero) -> FreedomID {
  FreedomID(
    apiKey: "key-1", provider: "freedom", socketPath: path, patience: patience)
}

extension FreedomID {
  /// Returns the outcome of the async `authorize` as a value.
  func outcome(
    _ presenter: any FreedomIDPresenter, _ grants: [DataGrants] = [.readFirstname, .readPhone]
  ) async -> Result<GrantedProfile, FreedomIDError> {
    do {
      return .success(try await authorize(presenter: presenter, grants: grants))
    } catch {
      return .failure(error)
    }
  }
}

extension Result<GrantedProfile, FreedomIDError> {
  var firstname: String? { try? get().firstname }

  var error: FreedomIDError? {
    if case .failure(let error) = self { error } else { nil }
  }
}

extension FreedomIDDaemon {
  /// Runs an authorization together with `meanwhile` and returns the outcome.
  func authorize(
    _ viewer: FreedomIDViewer = .willing(), patience: Duration = .zero,
    grants: [DataGrants] = [.readFirstname, .readPhone],
    meanwhile: @escaping @Sendable () async throws -> Void = {}
  ) async throws -> Result<GrantedProfile, FreedomIDError> {
    try await run { path in
      let sdk = freedomID(path, patience: patience)
      return try await outcome(
        of: { await sdk.outcome(viewer, grants) }, meanwhile: meanwhile)
    }
  }
}
