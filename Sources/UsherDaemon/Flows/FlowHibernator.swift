import Synchronization
import UsherCore
import UsherFlows

/// Saves memory: keeps the machines of the flows that changed last unpacked, and packs the machines
/// of the others (``LiveFlow/hibernate()``).
final class FlowHibernator: Sendable {
  private let limit: Int
  private let flows = Mutex<[LiveFlow]>([])

  /// - Parameter limit: The number of state changes that are remembered. It bounds the number of
  ///   flows that stay unpacked, at a few kilobytes each.
  init(limit: Int = 1024) { self.limit = limit }

  /// Records that a flow has changed. If too many changes are recorded, removes the oldest one and
  /// packs the machine of its flow unless that flow has changed since.
  func recordChange(_ flow: LiveFlow) {
    flow.countPendingChange()
    let oldest = flows.withLock { flows -> LiveFlow? in
      flows.append(flow)
      return flows.count > limit ? flows.removeFirst() : nil
    }
    oldest?.hibernate()
  }
}

/// The packed machine of a hibernating flow, that is, a flow that waits in memory.
struct PackedMachine: Sendable {
  let type: any FlowMachine.Type
  let bytes: [UInt8]
  let coder: FlowCoder

  func unpacked() throws(UsherError) -> any FlowMachine {
    try type.init(packed: bytes, by: coder)
  }
}
