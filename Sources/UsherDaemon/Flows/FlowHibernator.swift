import Synchronization

/// Saves memory: keeps the machines of the flows that changed last unpacked, and packs the machines
/// of the others (``LiveFlow/rest()``).
final class FlowHibernator: Sendable {
  private let most: Int
  private let flows = Mutex<[LiveFlow]>([])

  /// - Parameter most: The number of state changes that are remembered. It bounds the number of
  ///   flows that stay unpacked, at a few kilobytes each.
  init(most: Int = 1024) { self.most = most }

  /// Records that a flow has changed. If too many changes are recorded, removes the oldest one and
  /// packs the machine of its flow unless that flow has changed since.
  func moved(_ flow: LiveFlow) {
    flow.countMove()
    let longest = flows.withLock { flows -> LiveFlow? in
      flows.append(flow)
      return flows.count > most ? flows.removeFirst() : nil
    }
    longest?.rest()
  }
}
