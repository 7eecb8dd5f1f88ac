import UsherAPI
import UsherCore
import UsherFlows
import UsherStore

// Reads the flows from the store at a start of the daemon.
extension FlowRepository {
  /// A flow's row, not decrypted yet, and its journal.
  private struct SealedEntry: Sendable {
    let flow: SealedFlow
    let journal: [Transition]
  }

  private enum Restored: Sendable {
    case flow(LiveFlow)
    case unread(FlowID, UsherError)
  }

  /// The number of flows that are read at a time. It bounds the number of rows and unpacked
  /// machines in memory.
  private static let page = 1024
  /// The number of rows that are read between two calls of `reportProgress`.
  private static let progressInterval = 5000

  /// Reads all flows from the store and passes each one that can be decoded to `body`.
  ///
  /// - Parameter reportProgress: Called after every ``progressInterval`` rows, so that the caller
  ///   can report progress to systemd.
  /// - Returns: The flows that were decrypted but could not be decoded, each with the reason.
  /// - Throws: `storageUnavailable` if the database cannot be read or a row cannot be decrypted.
  func restore(
    _ reportProgress: () -> Void, _ body: (LiveFlow) -> Void
  ) async throws(UsherError) -> [(flow: FlowID, error: UsherError)] {
    var read = 0
    func count() {
      read += 1
      if read.isMultiple(of: Self.progressInterval) { reportProgress() }
    }
    var journal: [FlowID: [Transition]] = [:]
    try store.readJournal { row in
      let transition = Transition(revision: row.revision, state: row.state, at: row.at)
      journal[row.flow, default: []].append(transition)
      count()
    }
    var unread: [(FlowID, UsherError)] = []
    var last: SealedFlow?
    repeat {
      let page = try store.flows(after: last, atMost: Self.page)
      let entries = page.map {
        SealedEntry(flow: $0, journal: journal.removeValue(forKey: $0.id) ?? [])
      }
      for flow in try await restored(entries) {
        switch flow {
        case .flow(let flow): body(flow)
        case .unread(let id, let error): unread.append((id, error))
        }
        count()
      }
      last = page.count == Self.page ? page.last : nil
    } while last != nil
    return unread
  }

  /// Decrypts and decodes flows on all processors, because this takes most of a start's time.
  private func restored(_ flows: [SealedEntry]) async throws(UsherError) -> [Restored] {
    let chunkSize = max(flows.count / dependencies.processors, 1)
    let outcomes = await withTaskGroup(of: Result<[Restored], UsherError>.self) { group in
      for start in stride(from: 0, to: flows.count, by: chunkSize) {
        let part = flows[start..<min(start + chunkSize, flows.count)]
        group.addTask { [self] in
          Result { () throws(UsherError) in try part.map(read) }
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    var all: [Restored] = []
    for outcome in outcomes { all += try outcome.get() }
    return all
  }

  private func read(_ entry: SealedEntry) throws(UsherError) -> Restored {
    let row = try store.open(entry.flow)
    do throws(UsherError) {
      return .flow(flow(row, try RestoredFlow(row, by: coder), entry.journal))
    } catch {
      return .unread(row.id, error)
    }
  }

  private func flow(_ row: FlowRow, _ read: RestoredFlow, _ transitions: [Transition]) -> LiveFlow {
    let (stored, machine) = (read.stored, read.machine)
    let metadata = FlowMetadata(
      owner: row.owner, provider: row.provider, kind: row.kind, client: stored.client,
      uid: stored.uid ?? row.owner.uid, credentials: stored.credentials ?? CredentialTags())
    return LiveFlow(
      id: row.id, metadata: metadataPool.shared(metadata), requestID: row.requestID,
      createdAt: row.createdAt,
      snapshot: .init(
        machine: machine,
        view: machine?.view ?? FlowView(state: stored.state, step: .wait(.init(for: ""))),
        ending: stored.ending, revision: row.revision, updatedAt: row.updatedAt,
        expiresAt: row.expiresAt),
      transitions: transitions, packed: read.packed, isToResume: machine != nil)
  }
}
