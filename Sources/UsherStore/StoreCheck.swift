package import UsherCore

extension Store {
  /// Opens every row but the audit's, which has a check of its own: a start opens few of them. Blocks.
  ///
  /// - Throws: `storage_unavailable`, naming the first row that does not open.
  package func check() throws(UsherError) {
    _ = try loadFlows()
    _ = try loadCredentials()
    _ = try loadLocalAuth()
    _ = try loadConfirmations()
    var last: SealedAccount?
    repeat {
      let page = try accounts(.all, after: last, atMost: 256)
      for account in page { _ = try open(account) }
      last = page.last
    } while last != nil
  }
}
