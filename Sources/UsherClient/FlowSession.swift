import Synchronization
public import UsherAPI
public import UsherCore

/// One flow, from its begin to its end.
///
/// ```swift
/// for try await flow in session.steps {
///   guard case .enterCode? = flow.step else { continue }
///   try await session.submit(.code(Secret(readLine() ?? ""), fields: [:]))
/// }
/// ```
public final class FlowSession: Sendable {
  /// The longest that one look at the daemon waits, in milliseconds.
  static let pollMs = 30_000

  public let id: FlowID
  private let client: UsherClient
  private let latest: Mutex<Flow>

  init(_ client: UsherClient, _ flow: Flow) {
    self.client = client
    id = flow.id
    latest = Mutex(flow)
  }

  /// The flow as it was last seen here; nothing is asked.
  public var flow: Flow { latest.withLock { $0 } }

  /// The flow now and each time it moves on, until it has ended; its end comes too.
  public var steps: FlowSteps { FlowSteps(session: self) }

  /// Answers a step: that of `seen`, or the one at which the flow was last seen here.
  ///
  /// It is given once: over a restart of the daemon again only where it is certain that it has not
  /// arrived.
  ///
  /// - Throws: `UsherError` with reason `conflict` when the flow has moved on meanwhile,
  ///   `invalidInput` with `detail.field`; either way nothing has changed. After a lost connection,
  ///   which is `ConnectionError`, and after `shuttingDown`, it is not known whether the answer
  ///   arrived: ``steps`` tells.
  @discardableResult
  public func submit(_ input: FlowInput, answering seen: Flow? = nil) async throws -> Flow {
    let submit = FlowSubmit(flow: id, revision: (seen ?? flow).revision, input: input.json)
    return take(try await client.call(submit).flow)
  }

  /// Cancels the flow; one that has ended stays as it is.
  @discardableResult
  public func cancel() async throws -> Flow {
    take(try await client.call(FlowCancel(flow: id)).flow)
  }

  /// Asks how the flow stands.
  @discardableResult
  public func refresh() async throws -> Flow {
    take(try await client.call(FlowGet(flow: id)).flow)
  }

  /// Waits until the flow has moved on from a revision, for as long as that takes.
  ///
  /// A daemon that restarts meanwhile is waited for, as long as `patience` says, however often it
  /// does: the flow goes on, and is then seen as it stands.
  public func change(
    after revision: Int, patience: Duration = UsherClient.patience
  ) async throws -> Flow {
    while true {
      let seen = flow
      if seen.revision > revision || seen.status.isFinished { return seen }
      let wait = FlowWait(flow: id, revision: revision, timeoutMs: Self.pollMs)
      take(try await client.call(wait, patience: patience).flow)
    }
  }

  /// Keeps a flow unless a newer one is kept already, and hands it on.
  @discardableResult
  private func take(_ flow: Flow) -> Flow {
    latest.withLock { latest in
      if flow.revision >= latest.revision { latest = flow }
    }
    return flow
  }
}

/// A flow each time it moves on.
///
/// What happens between two looks is seen as one change: an element is the flow as it stands, not
/// each state it went through. The last element is the flow's end.
public struct FlowSteps: AsyncSequence, Sendable {
  public typealias Element = Flow

  let session: FlowSession

  public struct AsyncIterator: AsyncIteratorProtocol {
    private enum Shown {
      case nothing
      case revision(Int)
      case end
    }

    private let session: FlowSession
    private var shown = Shown.nothing

    init(_ session: FlowSession) { self.session = session }

    /// - Throws: What ``FlowSession/change(after:patience:)`` throws.
    public mutating func next() async throws -> Flow? {
      let flow: Flow
      switch shown {
      case .nothing: flow = session.flow
      case .revision(let revision): flow = try await session.change(after: revision)
      case .end: return nil
      }
      shown = flow.status.isFinished ? .end : .revision(flow.revision)
      return flow
    }
  }

  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(session) }
}
