import Synchronization
public import UsherAPI
public import UsherCore

/// A client's handle to one flow of the daemon, such as a sign-in.
///
/// ```swift
/// for try await flow in session.steps {
///   guard case .enterCode? = flow.step else { continue }
///   try await session.submit(.code(Secret(readLine() ?? ""), fields: [:]))
/// }
/// ```
public final class FlowSession: Sendable {
  /// The time for which one `flow.wait` call waits, in milliseconds.
  static let pollMs = 30_000

  public let id: FlowID
  private let client: UsherClient
  private let latest: Mutex<Flow>

  init(_ client: UsherClient, _ flow: Flow) {
    self.client = client
    id = flow.id
    latest = Mutex(flow)
  }

  /// The flow as this session last received it. Reading it does not call the daemon.
  public var flow: Flow { latest.withLock { $0 } }

  /// The sequence of the flow's states: the present one and each later one, up to the flow's end.
  public var steps: FlowSteps { FlowSteps(session: self) }

  /// Answers the current step of the flow (`flow.submit`).
  ///
  /// The answer is sent once. It is sent again only if it is certain that the daemon did not get
  /// it.
  ///
  /// - Parameters:
  ///   - input: The input for the step, of the step's type.
  ///   - seen: The flow whose step is answered; nil means ``flow``.
  /// - Throws: `UsherError` with reason `conflict` if the flow has changed meanwhile, or
  ///   `invalidInput` with `detail.field`; neither changes the flow. After `ConnectionError` of
  ///   kind `lost`, and after `shuttingDown`, it is unknown whether the answer arrived: ``steps``
  ///   tells.
  @discardableResult
  public func submit(_ input: FlowInput, answering seen: Flow? = nil) async throws -> Flow {
    let submit = FlowSubmit(flow: id, revision: (seen ?? flow).revision, input: input.json)
    return store(try await client.call(submit).flow)
  }

  /// Cancels the flow. A flow that has ended does not change.
  @discardableResult
  public func cancel() async throws -> Flow {
    store(try await client.call(FlowCancel(flow: id)).flow)
  }

  /// Asks the daemon for the current state of the flow.
  @discardableResult
  public func refresh() async throws -> Flow {
    store(try await client.call(FlowGet(flow: id)).flow)
  }

  /// Asks the daemon for the current state of the flow, even if the daemon restarts meanwhile.
  @discardableResult
  func refresh(patience: Duration) async throws -> Flow {
    store(try await client.call(FlowGet(flow: id), patience: patience).flow)
  }

  /// Waits without a time limit until the flow is newer than a revision or has ended.
  ///
  /// The flow survives restarts of the daemon, and this waits across any number of them.
  ///
  /// - Parameters:
  ///   - revision: The revision that the caller has seen.
  ///   - patience: The total pause between attempts while the daemon cannot be reached.
  /// - Returns: The flow as it is now, which may be more than one revision later.
  /// - Throws: `ConnectionError` if the daemon cannot be reached for longer than `patience`;
  ///   `UsherError`; `CancellationError`.
  public func change(
    after revision: Int, patience: Duration = UsherClient.patience
  ) async throws -> Flow {
    while true {
      let seen = flow
      if seen.revision > revision || seen.status.isFinished { return seen }
      let wait = FlowWait(flow: id, revision: revision, timeoutMs: Self.pollMs)
      store(try await client.call(wait, patience: patience).flow)
    }
  }

  /// Stores a received flow unless a newer revision is stored, and returns it.
  @discardableResult
  private func store(_ flow: Flow) -> Flow {
    latest.withLock { latest in
      if flow.revision >= latest.revision { latest = flow }
    }
    return flow
  }
}

/// The sequence of a flow's changes.
///
/// The first element is the flow as the session last received it, the last element is the flow
/// after its end. Several changes in a short time may come as one element, so not every state is
/// seen.
public struct FlowSteps: AsyncSequence, Sendable {
  public typealias Element = Flow

  let session: FlowSession

  public struct AsyncIterator: AsyncIteratorProtocol {
    let session: FlowSession
    /// The flow that the iterator returned last; nil before the first.
    fileprivate var last: Flow?

    /// Waits for the next change of the flow; nil after its end.
    ///
    /// - Throws: The errors of ``FlowSession/change(after:patience:)``.
    public mutating func next() async throws -> Flow? {
      if let last, last.status.isFinished { return nil }
      let flow =
        if let last { try await session.change(after: last.revision) } else { session.flow }
      last = flow
      return flow
    }
  }

  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(session: session) }
}
