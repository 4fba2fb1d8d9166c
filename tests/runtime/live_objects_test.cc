#include "runtime/live_objects.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <random>
#include <thread>

namespace normgrad {
namespace {

struct Object : std::enable_shared_from_this<Object> {
  explicit Object(LiveObjects<Object>& its_table) : table(its_table) {}
  ~Object() { table.unpublish(this); }
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  LiveObjects<Object>& table;
  int number = 0;
};

TEST(LiveObjects, AreFoundUntilTheyAreUnpublishedOrGone) {
  LiveObjects<Object> objects;
  EXPECT_EQ(objects.find(nullptr), nullptr);
  auto one = std::make_shared<Object>(objects);
  auto other = std::make_shared<Object>(objects);
  objects.publish(*one);
  EXPECT_EQ(objects.find(one.get()), one);
  EXPECT_EQ(objects.find(other.get()), nullptr);
  objects.publish(*other);
  objects.unpublish(one.get());
  EXPECT_EQ(objects.find(one.get()), nullptr);
  EXPECT_EQ(objects.find(other.get()), other);
  const void* gone = other.get();
  other.reset();
  EXPECT_EQ(objects.find(gone), nullptr);
  objects.unpublish(gone);
  objects.unpublish(gone);
}

// Against a map, in random order: what is erased leaves no gap that hides another.
TEST(LiveObjects, AreWhatAMapSays) {
  LiveObjects<Object> objects;
  std::map<const void*, std::shared_ptr<Object>> model;
  std::vector<std::shared_ptr<Object>> all;
  for (int i = 0; i < 3000; ++i) all.push_back(std::make_shared<Object>(objects));
  std::mt19937_64 random(7);
  long wrong = 0;
  for (int step = 0; step < 200000; ++step) {
    const auto& object = all[random() % all.size()];
    if (random() % 2 == 0) {
      objects.publish(*object);
      model[object.get()] = object;
    } else {
      objects.unpublish(object.get());
      model.erase(object.get());
    }
    const auto& asked = all[random() % all.size()];
    wrong += (objects.find(asked.get()) != nullptr) != model.contains(asked.get());
  }
  for (const auto& object : all) {
    wrong += (objects.find(object.get()) == object) != model.contains(object.get());
  }
  EXPECT_EQ(wrong, 0);
}

TEST(LiveObjects, StayWhileWhoFoundThemUsesThem) {
  LiveObjects<Object> objects;
  std::atomic<bool> stop = false;
  std::atomic<const void*> handle = nullptr;
  std::atomic<int> wrong = 0;
  std::thread reader([&] {
    while (!stop) {
      if (const auto found = objects.find(handle)) wrong += found->number != 42;
    }
  });
  for (int i = 0; i < 20000; ++i) {
    auto object = std::make_shared<Object>(objects);
    object->number = 42;
    objects.publish(*object);
    handle = object.get();
    if (i % 2 == 0) objects.unpublish(object.get());  // else its destructor does
  }
  stop = true;
  reader.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace normgrad
