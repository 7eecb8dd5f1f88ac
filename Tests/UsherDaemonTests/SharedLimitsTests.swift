import Testing
import UsherStore
import UsherSystem
import UsherTestKit

@testable import UsherDaemon

@Suite("Limits shared by several uids")
struct SharedLimitsTests {
  /// Maps with different owners, one of which has a subordinate id with subordinate ids.
  private static let maps = [
    SubordinateUsers(), SubordinateUsers("1:4:3"), SubordinateUsers("1:4:2\n2:6:2"),
    SubordinateUsers("4:5:1\n1:4:1"),
  ]

  @Test("SharedLimits returns the values that a search of all owners finds", arguments: 0..<20)
  func everyHolder(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var limits = SharedLimits<Owner, Int>()
    for step in 0..<400 {
      let owner = Owner(realm: "host", uid: .random(in: 0..<8, using: &random))
      switch Int.random(in: 0..<4, using: &random) {
      case 0: limits[owner] = step
      case 1: limits[owner] = nil
      case 2: limits[owner, or: 0] += 1
      default:
        let users = Self.maps.randomElement(using: &random) ?? SubordinateUsers()
        let expected = limits.values.filter {
          $0.key.limitHolder(users) == owner.limitHolder(users)
        }
        #expect(limits.sharing(with: owner, users).sorted() == expected.values.sorted())
      }
    }
  }
}
