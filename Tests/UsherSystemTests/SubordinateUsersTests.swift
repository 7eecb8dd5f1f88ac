import Testing

@testable import UsherSystem

@Suite("Owners of subordinate user ids")
struct SubordinateUsersTests {
  private let users = SubordinateUsers(
    """
    anna:100000:65536
    # a comment, and lines that are none
    bert:x:1
    1001:300000:10
    unknown:200000:10
    last:4294967290:100
    """,
    user: { ["anna": 1000, "last": 1002][$0] })

  @Test(
    "a uid in a subordinate range maps to the range's owner, and any other uid to itself",
    arguments: [
      (0, 0), (1000, 1000), (99_999, 99_999), (100_000, 1000), (165_535, 1000),
      (165_536, 165_536), (300_000, 1001), (300_009, 1001), (300_010, 300_010),
      (4_294_967_290, 1002), (4_294_967_295, 1002),
    ] as [(UInt32, UInt32)])
  func owners(id: UInt32, owner: UInt32) {
    #expect(users.owner(of: id) == owner)
  }

  @Test("all ids in a subordinate range of an unknown user map to the same uid")
  func unknown() {
    #expect(users.owner(of: 200_000) == users.owner(of: 200_009))
    #expect(users.owner(of: 200_010) == 200_010)
  }

  @Test("an id in nested subordinate ranges maps to the innermost range's owner")
  func overlapping() {
    let users = SubordinateUsers("1000:100000:1000\n1001:100100:10\n1002:100200:10\n")
    #expect(users.owner(of: 100_105) == 1001)
    #expect(users.owner(of: 100_150) == 1000)
    #expect(users.owner(of: 100_999) == 1000)
    #expect(users.owner(of: 101_000) == 101_000)
  }

  @Test("every id of a subordinate range is subordinate, also the first of an unknown user")
  func subordinates() {
    #expect(users.user(ofSubordinate: 200_000) == 200_000)
    #expect(users.user(ofSubordinate: 100_001) == 1000)
    #expect(users.user(ofSubordinate: 1000) == nil)
  }

  @Test("an unreadable file of subordinate ids is not treated as an empty one")
  func unreadable() {
    #expect(SubordinateUsers.ofSystem(path: "/") == nil)
  }

  @Test("without the file of subordinate ids, every uid maps to itself")
  func none() {
    #expect(SubordinateUsers.ofSystem(path: "/nonexistent") == SubordinateUsers())
    #expect(SubordinateUsers().owner(of: 7) == 7)
  }
}
