// Every bad call of the tables: its code, its sentence, and nothing changed.
#include <iostream>

#include "api/acl/world.h"

namespace acl_test {
namespace {

class AclProvocations : public AclTest {
 protected:
  static void provoke(const std::vector<Provocation>& all) {
    World world;
    for (const Provocation& one : all) {
      const auto check = [&] {
        EXPECT_TRUE(refused(one.code, one.call(world), one.function, one.words));
      };
      if (one.without_context) {
        run_in_new_thread(check);
      } else {
        check();
      }
      ASSERT_TRUE(world.is_unchanged()) << one.function << ", " << one.words;
    }
    EXPECT_EQ(aclrtSynchronizeDevice(), ACL_SUCCESS);
    EXPECT_TRUE(world.is_unchanged());
  }
};

TEST_F(AclProvocations, OfDevicesAreRefused) { provoke(device_provocations()); }
TEST_F(AclProvocations, OfStreamsAreRefused) { provoke(stream_provocations()); }
TEST_F(AclProvocations, OfMemoryAreRefused) { provoke(memory_provocations()); }

TEST_F(AclProvocations, AreMany) {
  const std::size_t count =
      device_provocations().size() + stream_provocations().size() + memory_provocations().size();
  std::cout << count << " provocations of the ACL runtime\n";
  EXPECT_GE(count, 90u);
}

}  // namespace
}  // namespace acl_test
