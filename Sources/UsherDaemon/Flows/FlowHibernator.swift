import Synchronization

/// Keeps the flows that moved last awake, and packs the machines of the others.
final class FlowHibernator: Sendable {
  private let most: Int
  private let flows = Mutex<[LiveFlow]>([])

  /// - Parameter most: The number of moves that are remembered; it bounds the flows that stay
  ///   awake, at a few kilobytes each.
  init(most: Int = 1024) { self.most = most }

  /// Records that a flow has moved; if there are too many entries, drops the oldest and lets its
  /// flow rest.
  func moved(_ flow: LiveFlow) {
    flow.countMove()
    let longest = flows.withLock { flows -> LiveFlow? in
      flows.append(flow)
      return flows.count > most ? flows.removeFirst() : nil
    }
    longest?.rest()
  }
}
